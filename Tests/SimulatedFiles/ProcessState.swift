internal import CacheSystem

/// A file that a process has open.
struct OpenFile: Sendable {
  var number: FileNumber
  var options: OpenOptions
  var position = 0
  /// Tells it from all others; its lock belongs to it.
  var opening: Int
  /// The path that it was opened by.
  var path: FileName
}

/// The descriptors of one process, and what is to go wrong in it.
struct ProcessState: Sendable {
  private var files: [OpenFile?] = []
  var fault: SimulatedFault?
  /// The calls that matched the fault.
  var matched = 0
  var struck: SimulatedOperation?
  /// The kinds of the calls that were struck.
  var struckKinds: Set<SimulatedOperation.Kind> = []
  private(set) var hasEnded = false
  var operations = 0
  /// The calls, where they are recorded.
  var trace: [SimulatedOperation]?

  /// Descriptors begin here: 0, 1 and 2 are taken in every process.
  private static let first = 3

  subscript(_ descriptor: Int32) -> OpenFile? {
    get {
      let place = Int(descriptor) - Self.first
      return files.indices.contains(place) ? files[place] : nil
    }
    set {
      let place = Int(descriptor) - Self.first
      if files.indices.contains(place) { files[place] = newValue }
    }
  }

  var openFiles: [OpenFile] { files.compactMap(\.self) }

  /// Gives a file the lowest descriptor that is free.
  mutating func add(_ file: OpenFile) -> Int32 {
    let place = files.firstIndex { $0 == nil } ?? files.count
    if place == files.count { files.append(file) } else { files[place] = file }
    return Int32(place + Self.first)
  }

  mutating func end() {
    files = []
    hasEnded = true
  }

  /// What becomes of a call.
  mutating func judge(_ operation: SimulatedOperation) -> SimulatedFault.Effect? {
    operations += 1
    trace?.append(operation)
    guard let fault, fault.matches(operation) else { return nil }
    matched += 1
    guard matched == fault.number || fault.lasts && matched > fault.number else { return nil }
    struck = struck ?? operation
    struckKinds.insert(operation.kind)
    return fault.effect
  }
}
