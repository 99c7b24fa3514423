/// A stage that decodes one coding. It finds the ends of members, and keeps the unused input.
struct InflateStage: Sendable {
  /// The limit of gzip members without content in a row. Some tools end a file with one.
  private static let maximumEmptyMembers = 1_024

  let coding: Coding

  private enum Phase {
    case start
    case member
    /// After a complete member; for gzip, another one may follow.
    case between
    /// After the end; further bytes are not part of the data.
    case over
  }

  private var phase = Phase.start
  private var inflater: Inflater?
  private var input: [UInt8] = []
  private var position = 0
  /// The number of members that have ended since the last byte of output.
  private var emptyMembers = 0

  init(_ coding: Coding) {
    self.coding = coding
  }

  /// Whether the data may end here.
  var isAtEnd: Bool {
    switch phase {
    case .start: input.count == position
    case .member: false
    // A single first byte of a magic number is ignored like other bytes after the end.
    case .between, .over: true
    }
  }

  mutating func append(_ bytes: [UInt8]) {
    guard phase != .over else { return }
    if position == input.count {
      (input, position) = (bytes, 0)
    } else {
      input.removeFirst(position)
      position = 0
      input += bytes
    }
  }

  /// Returns a piece, or `nil` if all input has been used.
  mutating func next(atMost limit: Int) throws(ContentCodingError) -> [UInt8]? {
    while try begin() {
      guard let inflater else { throw .outOfMemory }
      let step = inflater.step(input, from: position, atMost: limit)
      position += step.consumed
      switch step.state {
      case .atEnd: try endMember(isEmpty: step.output.isEmpty)
      case .goesOn: break
      case .needsInput:
        if step.output.isEmpty { return nil }
      case .damaged: throw .damaged(coding: coding.rawValue)
      case .noMemory: throw .outOfMemory
      }
      if !step.output.isEmpty {
        emptyMembers = 0
        return step.output
      }
    }
    return nil
  }

  /// Prepares for a member; returns false if there is no input for one.
  private mutating func begin() throws(ContentCodingError) -> Bool {
    switch phase {
    case .member: return true
    case .over: return false
    case .start, .between:
      guard try hasStart() else { return false }
      if phase == .start {
        inflater = Inflater(format)
      } else {
        inflater?.restart()
      }
      phase = .member
      return true
    }
  }

  /// Returns whether there is enough input to recognise a member. Bytes after a member that are not
  /// a gzip member end the data, as in gzip(1) and in browsers.
  private mutating func hasStart() throws(ContentCodingError) -> Bool {
    let rest = input[position...]
    guard rest.count >= 2 else { return false }
    guard coding == .gzip, phase == .between, !rest.starts(with: [0x1F, 0x8B]) else { return true }
    end(isOver: true)
    return false
  }

  private mutating func endMember(isEmpty: Bool) throws(ContentCodingError) {
    if isEmpty { emptyMembers += 1 }
    guard emptyMembers <= Self.maximumEmptyMembers else {
      throw .damaged(coding: coding.rawValue)
    }
    end(isOver: coding != .gzip)
  }

  private mutating func end(isOver: Bool) {
    phase = isOver ? .over : .between
    guard isOver else { return }
    (input, position, inflater) = ([], 0, nil)
  }

  /// RFC 1950, section 2.2: a zlib frame begins with the method 8, a window of at most 32 KiB, and
  /// two bytes that together are a multiple of 31. Browsers, too, take raw data that happens to
  /// begin like this for damaged zlib data.
  private var format: Inflater.Format {
    guard coding == .deflate else { return .gzip }
    let (first, second) = (input[position], input[position + 1])
    let isFramed =
      first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) * 256 + Int(second)) % 31 == 0
    return isFramed ? .zlib : .raw
  }
}
