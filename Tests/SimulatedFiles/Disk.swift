internal import CLibrary
internal import CacheSystem

/// The number of a file or directory of a simulated disk, as an inode has one.
typealias FileNumber = UInt64

/// A name in a directory: bytes, as everywhere.
typealias FileName = [UInt8]

/// A file or directory: as programs see it now, and what of it a power cut leaves.
struct DiskNode: Sendable {
  var kind: FileKind
  var mode: UInt16
  var modified: Int64 = 0
  var linkCount = 0

  /// The bytes of a file.
  var data = FileData()
  /// The bytes at its last sync.
  var syncedData = FileData()
  var syncTime: Int64 = 0
  /// Whether a sync has failed: its pages count as clean then, and no later sync writes them
  /// (fsync(2), "NOTES"; Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020).
  var hasFailedSync = false
  /// The openings of the file whose next sync fails: the system could not write bytes, and has not
  /// reported it to them yet.
  var unreported: Set<Int> = []

  /// The names of a directory.
  var entries: [FileName: FileNumber] = [:]
  /// The names when the disk was last settled; what came after it stands in the log.
  var settledEntries: [FileName: FileNumber] = [:]
  /// The directory that a directory stands in.
  var parent: FileNumber = 0

  /// The changes of names in the log up to the last one that touched it.
  var lastChange = 0
}

/// The content of a simulated disk: a value, so that a copy costs next to nothing.
///
/// Numbers are never used again and nodes never dropped, as a power cut may bring names back. There
/// are no symbolic links (the protocol cannot make one), and permissions are kept, not enforced: it
/// is the disk of the superuser.
struct Disk: Sendable {
  static let root: FileNumber = 1

  var nodes: [FileNumber: DiskNode] = [:]
  var nextNumber = Disk.root + 1
  /// The changes of names since the disk was settled, in their order.
  var log: [NameChange] = []
  /// How much of the log is durable for sure, where it becomes durable in its order.
  var committed = OrderedCommits()
  /// Counts changes; stands for the time.
  var now: Int64 = 0
  var capacityBytes: Int
  /// The most names of one file.
  var maximumLinks: Int

  init(capacityBytes: Int, maximumLinks: Int) {
    self.capacityBytes = capacityBytes
    self.maximumLinks = maximumLinks
    var root = DiskNode(kind: .directory, mode: 0o700)
    root.linkCount = 1
    root.parent = Self.root
    nodes[Self.root] = root
  }

  /// The bytes that the disk still takes.
  var availableBytes: Int {
    if capacityBytes == .max { return 1 << 50 }
    let used = nodes.values.reduce(0) { sum, node in
      sum + (node.linkCount == 0 ? 0 : node.kind == .directory ? 4096 : node.data.allocatedBytes)
    }
    return max(0, capacityBytes - used)
  }

  func status(_ number: FileNumber) throws(SystemError) -> FileStatus {
    guard let node = nodes[number] else { throw SystemError(EBADF) }
    return FileStatus(
      length: UInt64(node.kind == .file ? node.data.length : 4096),
      allocated: UInt64(node.kind == .file ? node.data.allocatedBytes : 4096),
      fileNumber: number, linkCount: UInt64(node.linkCount), modified: node.modified,
      owner: geteuid(), mode: node.mode, kind: node.kind)
  }

  // MARK: Finding

  /// Follows a path: the directory that its last component stands in, and that component.
  ///
  /// - Parameter start: where a relative path begins.
  func find(
    _ path: FileName, from start: FileNumber
  ) throws(SystemError) -> (directory: FileNumber, name: FileName) {
    var directory = path.first == 47 ? Self.root : start
    let parts = path.split(separator: 47)
    for part in parts.dropLast() { directory = try step(directory, Array(part)) }
    guard nodes[directory]?.kind == .directory else { throw SystemError(ENOTDIR) }
    return (directory, parts.last.map(Array.init) ?? [46])
  }

  private func step(_ directory: FileNumber, _ name: FileName) throws(SystemError) -> FileNumber {
    guard let number = try lookUp(directory, name) else { throw .notFound }
    guard nodes[number]?.kind == .directory else { throw SystemError(ENOTDIR) }
    return number
  }

  /// What stands under a name of a directory.
  func lookUp(_ directory: FileNumber, _ name: FileName) throws(SystemError) -> FileNumber? {
    guard let node = nodes[directory], node.kind == .directory else { throw SystemError(ENOTDIR) }
    if name == [46] { return directory }
    if name == [46, 46] { return node.parent }
    return node.entries[name]
  }

  // MARK: Changing

  mutating func create(
    _ kind: FileKind, _ mode: UInt16, _ directory: FileNumber, _ name: FileName
  ) throws(SystemError) -> FileNumber {
    // A directory that was removed takes no more names.
    guard nodes[directory]?.linkCount ?? 0 > 0 else { throw .notFound }
    if kind == .directory && availableBytes < 4096 { throw SystemError(ENOSPC) }
    let number = nextNumber
    nextNumber += 1
    var node = DiskNode(kind: kind, mode: mode)
    node.parent = directory
    nodes[number] = node
    change(NameChange(adding: name, of: number, to: directory))
    return number
  }

  mutating func link(
    _ number: FileNumber, _ directory: FileNumber, _ name: FileName
  ) throws(SystemError) {
    guard let node = nodes[number], node.kind != .directory else { throw SystemError(EPERM) }
    guard node.linkCount > 0, nodes[directory]?.linkCount ?? 0 > 0 else { throw .notFound }
    if node.linkCount >= maximumLinks { throw SystemError(EMLINK) }
    change(NameChange(adding: name, of: number, to: directory))
  }

  mutating func removeFile(_ directory: FileNumber, _ name: FileName) throws(SystemError) {
    guard let number = try lookUp(directory, name) else { throw .notFound }
    if nodes[number]?.kind == .directory { throw SystemError(EISDIR) }
    change(NameChange(removing: name, of: number, from: directory))
  }

  mutating func removeDirectory(_ directory: FileNumber, _ name: FileName) throws(SystemError) {
    guard let number = try lookUp(directory, name) else { throw .notFound }
    guard let node = nodes[number], node.kind == .directory else { throw SystemError(ENOTDIR) }
    guard node.entries.isEmpty else { throw .notEmpty }
    change(NameChange(removing: name, of: number, from: directory))
  }

  mutating func rename(
    _ from: (directory: FileNumber, name: FileName), to: (directory: FileNumber, name: FileName)
  ) throws(SystemError) {
    guard let number = try lookUp(from.directory, from.name), let node = nodes[number]
    else { throw .notFound }
    if node.kind == .directory, isInside(to.directory, number) { throw SystemError(EINVAL) }
    let old = try lookUp(to.directory, to.name)
    // Two names of one file: nothing happens, and both stay (rename(2)).
    if old == number { return }
    if let old, let replaced = nodes[old] {
      if isInside(from.directory, old) { throw .notEmpty }
      if node.kind == .directory && replaced.kind != .directory { throw SystemError(ENOTDIR) }
      if node.kind != .directory && replaced.kind == .directory { throw SystemError(EISDIR) }
      guard replaced.entries.isEmpty else { throw .notEmpty }
    }
    guard nodes[to.directory]?.linkCount ?? 0 > 0 else { throw .notFound }
    change(
      NameChange(
        moving: number, from: from.directory, from.name, to: to.directory, to.name,
        flushed: old == nil ? nil : node.data))
    if node.kind == .directory { nodes[number]?.parent = to.directory }
  }

  private func isInside(_ directory: FileNumber, _ ancestor: FileNumber) -> Bool {
    var number = directory
    while number != ancestor {
      guard number != Self.root, let node = nodes[number] else { return false }
      number = node.parent
    }
    return true
  }

  /// Carries a change of names out, and notes it.
  private mutating func change(_ change: NameChange) {
    now += 1
    var change = change
    change.time = now
    log.append(change)
    nodes[change.file]?.lastChange = log.count
    if let (directory, name) = change.removed {
      touch(directory)
      nodes[directory]?.entries[name] = nil
      nodes[change.file]?.linkCount -= 1
    }
    if let (directory, name) = change.added {
      touch(directory)
      if let old = nodes[directory]?.entries.updateValue(change.file, forKey: name) {
        nodes[old]?.linkCount -= 1
        nodes[old]?.lastChange = log.count
      }
      nodes[change.file]?.linkCount += 1
    }
  }

  private mutating func touch(_ directory: FileNumber) {
    nodes[directory]?.lastChange = log.count
    nodes[directory]?.modified = now
  }

  /// Writes as much as there is room for.
  ///
  /// - Throws: ENOSPC where not even a page is left.
  mutating func write(
    _ number: FileNumber, _ buffer: UnsafeRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    guard let data = nodes[number]?.data else { throw SystemError(EBADF) }
    var count = buffer.count
    let room = availableBytes / FileData.pageBytes
    while count > 0, data.missingPages(count, at: offset) > room {
      count = max(0, (offset + count - 1) / FileData.pageBytes * FileData.pageBytes - offset)
    }
    if count == 0 && buffer.count > 0 { throw SystemError(ENOSPC) }
    now += 1
    // Safety: `count` is at most the count of the buffer.
    unsafe nodes[number]?.data.write(
      UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
    nodes[number]?.modified = now
    return count
  }

  mutating func truncate(_ number: FileNumber, to length: Int) {
    now += 1
    nodes[number]?.data.truncate(to: length)
    nodes[number]?.modified = now
  }
}
