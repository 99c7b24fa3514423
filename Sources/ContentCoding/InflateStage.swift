/// Takes one coding off: knows where members begin and end, and what of the input is not used yet.
struct InflateStage: Sendable {
  let coding: Coding

  private enum Phase {
    /// Nothing has come yet.
    case start
    /// Within a member.
    case member
    /// After a complete member; for gzip, another one may follow.
    case between
    /// After the end; what follows is no part of the data.
    case over
  }

  private var phase = Phase.start
  private var inflater: Inflater?
  private var input: [UInt8] = []
  private var position = 0

  init(_ coding: Coding) {
    self.coding = coding
  }

  /// Tells whether the data may end here.
  var isAtEnd: Bool {
    switch phase {
    case .start: input.count == position
    case .member: false
    // A lone first byte of a magic number is trailing garbage.
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

  /// Returns a piece, or nil when all input is used.
  mutating func next(atMost limit: Int) throws(ContentCodingError) -> [UInt8]? {
    while try begin() {
      guard let inflater else { throw .outOfMemory }
      let step = inflater.step(input, from: position, atMost: limit)
      position += step.consumed
      switch step.state {
      case .atEnd: end()
      case .goesOn: break
      case .needsInput:
        if step.output.isEmpty { return nil }
      case .damaged: throw .damaged(coding: coding.rawValue)
      case .noMemory: throw .outOfMemory
      }
      if !step.output.isEmpty { return step.output }
    }
    return nil
  }

  /// Makes ready for a member; false when there is no input for one.
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

  /// Tells whether enough input is there to know what begins; what begins after a member and is
  /// no gzip member ends the data, as it does for gzip(1) and the browsers.
  private mutating func hasStart() throws(ContentCodingError) -> Bool {
    let rest = input[position...]
    guard rest.count >= 2 else { return false }
    guard coding == .gzip, phase == .between, !rest.starts(with: [0x1F, 0x8B]) else { return true }
    end(isOver: true)
    return false
  }

  private mutating func end() {
    end(isOver: coding != .gzip)
  }

  private mutating func end(isOver: Bool) {
    phase = isOver ? .over : .between
    guard isOver else { return }
    (input, position, inflater) = ([], 0, nil)
  }

  /// RFC 1950, section 2.2: a zlib frame begins with the method 8, a window of at most 32 KiB, and
  /// two bytes that are a multiple of 31 together. Raw data that begins so by chance is damaged
  /// zlib data to the browsers as well.
  private var format: Inflater.Format {
    guard coding == .deflate else { return .gzip }
    let (first, second) = (input[position], input[position + 1])
    let isFramed =
      first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) * 256 + Int(second)) % 31 == 0
    return isFramed ? .zlib : .raw
  }
}
