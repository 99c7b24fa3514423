import CLibrary
package import CacheSystem
import Synchronization

/// One call of the file system, as a rule of `Faults` sees it.
package struct FileCall: Sendable {
  package typealias Kind = SimulatedOperation.Kind

  package var kind: Kind
  package var name = ""
  package var options: OpenOptions = []
  /// Where a read begins; 0 for one at the position of the file.
  package var offset: Int64 = 0
  /// The number of calls before this one since the rule was set.
  package var place = 0

  /// Whether it needs room on the disk.
  package var takesRoom: Bool { [.write, .makeDirectory, .link].contains(kind) }

  /// Whether it changes anything on the disk.
  package var isChange: Bool {
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
package final class Faults: Sendable {
  package typealias Rule = @Sendable (FileCall) -> SystemError?

  /// What one call does.
  package enum Step: Sendable, Equatable {
    case fail(SystemError)
    /// Transfers so many bytes at most.
    case short(Int)
  }

  private struct State {
    var rule: Rule?
    var steps: [Step] = []
    var calls: [FileCall] = []
    var records = false
    var blockBytes: UInt64?
    var availableBytes: UInt64?
    var availableFiles: UInt64?
    var fileNumber: UInt64?
    var owner: UInt32?
    var mode: UInt16?
    var names: [Int32: String] = [:]
  }

  private let state = Mutex(State())

  /// Sets the rule and counts calls anew; nil lets all succeed.
  package func set(_ rule: Rule?) {
    state.withLock { state in
      state.rule = rule
      state.steps = []
      state.calls = []
      state.records = true
    }
  }

  /// Sets what the next calls do, and counts anew.
  package func play(_ steps: [Step]) {
    set(nil)
    state.withLock { $0.steps = steps }
  }

  /// Lets the calls fail that need room on the disk, or none.
  package func setFull(_ isFull: Bool) {
    set { isFull && $0.takesRoom ? SystemError(ENOSPC) : nil }
  }

  /// The calls since the rule was set.
  package var calls: [FileCall] { state.withLock { $0.calls } }

  /// The number of descriptors that are open.
  package var openDescriptors: Int { state.withLock { $0.names.count } }

  /// The block size that the volume seems to have.
  package var blockBytes: UInt64? {
    get { state.withLock { $0.blockBytes } }
    set { state.withLock { $0.blockBytes = newValue } }
  }

  /// The free bytes that the volume seems to have.
  package var availableBytes: UInt64? {
    get { state.withLock { $0.availableBytes } }
    set { state.withLock { $0.availableBytes = newValue } }
  }

  /// The free inodes that the volume seems to have.
  package var availableFiles: UInt64? {
    get { state.withLock { $0.availableFiles } }
    set { state.withLock { $0.availableFiles = newValue } }
  }

  /// The inode number that all files seem to have, so that each is every other one by another path.
  package var fileNumber: UInt64? {
    get { state.withLock { $0.fileNumber } }
    set { state.withLock { $0.fileNumber = newValue } }
  }

  /// The owner that all files seem to have.
  package var owner: UInt32? {
    get { state.withLock { $0.owner } }
    set { state.withLock { $0.owner = newValue } }
  }

  /// The mode that all files seem to have.
  package var mode: UInt16? {
    get { state.withLock { $0.mode } }
    set { state.withLock { $0.mode = newValue } }
  }

  fileprivate func name(of descriptor: Int32) -> String {
    state.withLock { $0.names[descriptor] ?? "" }
  }

  /// Notes the name that a file was opened by; nil when it is closed.
  fileprivate func setName(of descriptor: Int32, _ name: String?) {
    state.withLock { $0.names[descriptor] = name }
  }

  /// Judges a call.
  ///
  /// - Returns: the number of bytes that it may transfer.
  @discardableResult
  fileprivate func check(
    _ kind: FileCall.Kind, _ name: String = "", _ options: OpenOptions = [], offset: Int64 = 0
  ) throws(SystemError) -> Int {
    let (rule, step, call) = state.withLock { state -> (Rule?, Step?, FileCall) in
      let call = FileCall(
        kind: kind, name: name, options: options, offset: offset, place: state.calls.count)
      if state.records { state.calls.append(call) }
      return (state.rule, state.steps.isEmpty ? nil : state.steps.removeFirst(), call)
    }
    if let error = rule?(call) { throw error }
    switch step {
    case .fail(let error): throw error
    case .short(let count): return count
    case nil: return .max
    }
  }
}

/// The real file system, but for the calls that `faults` lets fail and what it lies about.
@safe
package struct FaultyFiles: FileSystem {
  package let faults = Faults()
  private let real = RealFileSystem()

  package init() {}

  package func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    try faults.check(.open, path.text, options)
    let descriptor = try real.openOnce(path, in: directory, options, mode: mode)
    faults.setName(of: descriptor, path.text)
    return descriptor
  }

  package func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try faults.check(.openUserPath, userPath, options)
    let descriptor = try real.openOnce(userPath: userPath, options)
    faults.setName(of: descriptor, userPath)
    return descriptor
  }

  package func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try faults.check(.makeDirectory, userPath)
    try real.makeDirectory(userPath: userPath, mode: mode)
  }

  package func close(_ descriptor: Int32) {
    // Before its number may be given to another.
    faults.setName(of: descriptor, nil)
    real.close(descriptor)
  }

  package func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    let limit = try faults.check(.read, faults.name(of: descriptor), offset: offset ?? 0)
    // Safety: a part of the caller's buffer.
    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit))
    return unsafe try real.readOnce(descriptor, into: part, at: offset)
  }

  package func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    let limit = try faults.check(.write, faults.name(of: descriptor))
    // Safety: a part of the caller's buffer.
    let part = unsafe UnsafeRawBufferPointer(rebasing: buffer.prefix(limit))
    return unsafe try real.writeOnce(descriptor, from: part, at: offset)
  }

  package func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try faults.check(.length, faults.name(of: descriptor))
    return try real.length(of: descriptor)
  }

  package func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try faults.check(.truncate)
    try real.truncateOnce(descriptor, to: length)
  }

  package func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try faults.check(.synchronize, faults.name(of: descriptor))
    try real.synchronizeOnce(descriptor, names: names)
  }

  package func synchronizeVolume(of descriptor: Int32) throws(SystemError) {
    try faults.check(.synchronize, faults.name(of: descriptor))
    try real.synchronizeVolume(of: descriptor)
  }

  package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try faults.check(.statusOf)
    return disguise(try real.status(of: descriptor))
  }

  package func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try faults.check(.statusAt, name.text)
    return disguise(try real.status(at: name, in: directory))
  }

  private func disguise(_ status: FileStatus) -> FileStatus {
    var status = status
    if let number = faults.fileNumber { status.fileNumber = number }
    if let owner = faults.owner { status.owner = owner }
    if let mode = faults.mode { status.mode = mode }
    return status
  }

  package func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try faults.check(.volume)
    var volume = try real.volume(of: descriptor)
    if let bytes = faults.blockBytes { volume.blockBytes = bytes }
    if let available = faults.availableBytes { volume.availableBytes = available }
    if let available = faults.availableFiles { volume.availableFiles = available }
    return volume
  }

  package func makeDirectory(
    _ name: PathName, in directory: Int32, mode: UInt16
  ) throws(SystemError) {
    try faults.check(.makeDirectory, name.text)
    try real.makeDirectory(name, in: directory, mode: mode)
  }

  package func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try faults.check(.removeFile, name.text)
    try real.removeFile(name, in: directory)
  }

  package func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try faults.check(.removeDirectory, name.text)
    try real.removeDirectory(name, in: directory)
  }

  package func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try faults.check(.rename, to.text)
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }

  package func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try faults.check(.link, to.text)
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }

  package func changeMode(
    at name: PathName, in directory: Int32, to mode: UInt16
  ) throws(SystemError) {
    try faults.check(.changeMode, name.text)
    try real.changeMode(at: name, in: directory, to: mode)
  }

  package func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try faults.check(.lock)
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }

  package func unlock(_ descriptor: Int32) { real.unlock(descriptor) }

  package func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try faults.check(.list, faults.name(of: descriptor))
    try real.list(descriptor, body)
  }
}

/// Lets calls of some kind fail: one of them, or all from it on, or every call from it on.
package final class CountedFault: Sendable {
  private let seen = Atomic<Int>(0)
  private let after: Int
  private let lasts: Bool
  private let ends: Bool
  private let error: SystemError
  private let matches: @Sendable (FileCall) -> Bool

  /// Makes a fault for the call that `after` matching ones precede.
  ///
  /// - Parameters:
  ///   - lasts: Whether the matching calls behind it fail, too.
  ///   - ends: Whether all calls behind it fail, as when the process was killed there.
  package init(
    after: Int, lasts: Bool = false, ends: Bool = false, _ error: SystemError,
    _ matches: @escaping @Sendable (FileCall) -> Bool
  ) {
    self.after = after
    self.lasts = lasts
    self.ends = ends
    self.error = error
    self.matches = matches
  }

  /// Whether the call that fails has come.
  package var hasStruck: Bool { seen.load(ordering: .relaxed) > after }

  package func check(_ call: FileCall) -> SystemError? {
    if ends, hasStruck { return error }
    guard matches(call) else { return nil }
    let place = seen.add(1, ordering: .relaxed).oldValue
    return place == after || lasts && place > after ? error : nil
  }
}
