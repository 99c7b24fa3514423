import CacheSystem
import Synchronization

/// One call of the file system, as a rule of `Faults` sees it.
struct FileCall: Sendable {
  enum Kind: Sendable, Hashable, CaseIterable {
    case open, openUserPath, read, write, length, truncate, synchronize, statusOf, statusAt
    case volume, makeDirectory, removeFile, removeDirectory, rename, link, changeMode, lock, map
    case list

    /// Whether it needs room on the disk.
    var takesRoom: Bool { [.write, .makeDirectory, .link].contains(self) }
  }

  var kind: Kind
  var name = ""
  var options: OpenOptions = []
  /// The number of calls before this one since the rule was set.
  var place = 0

  /// Whether it changes anything on the disk.
  var isChange: Bool {
    switch kind {
    case .write, .truncate, .makeDirectory, .removeFile, .removeDirectory, .rename, .link,
      .changeMode:
      true
    case .open: options.contains(.create)
    default: false
    }
  }
}

/// Says which calls fail; shared by all copies of a `FaultyFiles`.
final class Faults: Sendable {
  typealias Rule = @Sendable (FileCall) -> SystemError?

  private struct State {
    var rule: Rule?
    var calls: [FileCall] = []
    var records = false
    var availableBytes: UInt64?
    var owner: UInt32?
    var names: [Int32: PathName] = [:]
  }

  private let state = Mutex(State())

  /// Sets the rule and counts calls anew; nil lets all succeed.
  func set(_ rule: Rule?) {
    state.withLock { state in
      state.rule = rule
      state.calls = []
      state.records = true
    }
  }

  /// The calls since the rule was set.
  var calls: [FileCall] { state.withLock { $0.calls } }

  /// The name that a file was opened by.
  func name(of descriptor: Int32) -> PathName? { state.withLock { $0.names[descriptor] } }

  func setName(of descriptor: Int32, _ name: PathName) {
    state.withLock { $0.names[descriptor] = name }
  }

  /// The free bytes that the volume seems to have.
  var availableBytes: UInt64? {
    get { state.withLock { $0.availableBytes } }
    set { state.withLock { $0.availableBytes = newValue } }
  }

  /// The owner that all files seem to have.
  var owner: UInt32? {
    get { state.withLock { $0.owner } }
    set { state.withLock { $0.owner = newValue } }
  }

  func check(
    _ kind: FileCall.Kind, _ name: PathName? = nil, _ options: OpenOptions = []
  ) throws(SystemError) {
    let (rule, call) = state.withLock { state -> (Rule?, FileCall) in
      let call = FileCall(
        kind: kind, name: state.records ? name?.text ?? "" : "", options: options,
        place: state.calls.count)
      if state.records { state.calls.append(call) }
      return (state.rule, call)
    }
    if let error = rule?(call) { throw error }
  }
}

/// The real file system, but for the calls that `faults` lets fail and what it lies about.
@safe
struct FaultyFiles: FileSystem {
  let real = RealFileSystem()
  let faults = Faults()

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    try faults.check(.open, path, options)
    let descriptor = try real.openOnce(path, in: directory, options, mode: mode)
    faults.setName(of: descriptor, path)
    return descriptor
  }

  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try faults.check(.openUserPath, nil, options)
    return try real.openOnce(userPath: userPath, options)
  }

  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try faults.check(.makeDirectory)
    try real.makeDirectory(userPath: userPath, mode: mode)
  }

  func close(_ descriptor: Int32) { real.close(descriptor) }

  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try faults.check(.read)
    return unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }

  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try faults.check(.write)
    return unsafe try real.writeOnce(descriptor, from: buffer, at: offset)
  }

  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try faults.check(.length)
    return try real.length(of: descriptor)
  }

  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try faults.check(.truncate)
    try real.truncateOnce(descriptor, to: length)
  }

  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try faults.check(.synchronize, faults.name(of: descriptor))
    try real.synchronizeOnce(descriptor, names: names)
  }

  func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try faults.check(.statusOf)
    return disguise(try real.status(of: descriptor))
  }

  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try faults.check(.statusAt, name)
    return disguise(try real.status(at: name, in: directory))
  }

  private func disguise(_ status: FileStatus) -> FileStatus {
    var status = status
    if let owner = faults.owner { status.owner = owner }
    return status
  }

  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try faults.check(.volume)
    var volume = try real.volume(of: descriptor)
    if let available = faults.availableBytes { volume.availableBytes = available }
    return volume
  }

  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError) {
    try faults.check(.makeDirectory, name)
    try real.makeDirectory(name, in: directory, mode: mode)
  }

  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try faults.check(.removeFile, name)
    try real.removeFile(name, in: directory)
  }

  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try faults.check(.removeDirectory, name)
    try real.removeDirectory(name, in: directory)
  }

  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try faults.check(.rename, to)
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }

  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try faults.check(.link, to)
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }

  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try faults.check(.changeMode, name)
    try real.changeMode(at: name, in: directory, to: mode)
  }

  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try faults.check(.lock)
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }

  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }

  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    try faults.check(.map)
    return unsafe try real.map(descriptor, count: count)
  }

  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }

  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try faults.check(.list)
    try real.list(descriptor, body)
  }
}

/// Lets calls of some kind fail: one of them, or all from it on.
final class CountedFault: Sendable {
  private let seen = Atomic<Int>(0)
  private let after: Int
  private let lasts: Bool
  private let error: SystemError
  private let matches: @Sendable (FileCall) -> Bool

  /// Makes a fault for the call that `after` matching ones precede.
  init(
    after: Int, lasts: Bool = false, _ error: SystemError,
    _ matches: @escaping @Sendable (FileCall) -> Bool
  ) {
    self.after = after
    self.lasts = lasts
    self.error = error
    self.matches = matches
  }

  /// Whether the call that fails has come.
  var hasStruck: Bool { seen.load(ordering: .relaxed) > after }

  func check(_ call: FileCall) -> SystemError? {
    guard matches(call) else { return nil }
    let place = seen.add(1, ordering: .relaxed).oldValue
    return place == after || lasts && place > after ? error : nil
  }
}
