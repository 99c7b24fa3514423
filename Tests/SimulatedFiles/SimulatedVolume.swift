package import CacheSystem

/// A volume in memory that simulated processes share.
///
/// Every call is one step under one lock, so a run with one thread is the same each time.
package final class SimulatedVolume: Sendable {
  let state: Monitor<VolumeState>

  /// Makes an empty volume.
  ///
  /// - Parameters:
  ///   - capacityBytes: what fits onto it, in pages of 4 KiB; by default it is never full.
  ///   - maximumLinks: the most names of one file, as ext4 has 65,000.
  package convenience init(capacityBytes: Int = .max, maximumLinks: Int = 65_000) {
    self.init(Disk(capacityBytes: capacityBytes, maximumLinks: maximumLinks))
  }

  init(_ disk: Disk) { state = Monitor(VolumeState(disk: disk)) }

  private var disk: Disk { state.wait { $0.disk } }

  /// Makes a volume with the same content, without the processes, all of it durable.
  ///
  /// - Complexity: O(files); bytes are shared until they change.
  package func copy() -> SimulatedVolume {
    var disk = disk
    disk.settle()
    return SimulatedVolume(disk)
  }

  /// Makes all durable that is there now, and forgets what a power cut could have brought back: a
  /// volume that is used for long keeps all of that until then.
  ///
  /// - Complexity: O(files).
  package func settle() {
    state.change { volume in
      let open = volume.processes.flatMap(\.openFiles).map(\.number)
      volume.disk.settle(open: Set(open))
    }
  }

  /// Makes a volume with what a power cut at this moment may leave.
  ///
  /// - Parameter seed: decides what is there of what was not synced; nil for nothing of it.
  package func afterPowerLoss(_ profile: PowerLossProfile, seed: UInt64?) -> SimulatedVolume {
    SimulatedVolume(disk.afterPowerLoss(profile, seed: seed))
  }

  /// What stands on the volume, by path without the first slash.
  package var tree: [String: FileStatus] {
    let disk = disk
    var found: [String: FileStatus] = [:]
    var waiting = [("", Disk.root)]
    while let (path, directory) = waiting.popLast() {
      for (name, number) in disk.nodes[directory]?.entries ?? [:] {
        let inner = path + (path.isEmpty ? "" : "/") + String(decoding: name, as: UTF8.self)
        found[inner] = try? disk.status(number)
        if disk.nodes[number]?.kind == .directory { waiting.append((inner, number)) }
      }
    }
    return found
  }

  /// The bytes of a file, by its path without the first slash; `nil` if there is none.
  package func contents(of path: String) -> [UInt8]? {
    let disk = disk
    var number = Disk.root
    for name in path.split(separator: "/") {
      guard let next = disk.nodes[number]?.entries[FileName(name.utf8)] else { return nil }
      number = next
    }
    guard let data = disk.nodes[number]?.data else { return nil }
    // Safety: `read` fills the buffer, which has the length of the file.
    return unsafe [UInt8](unsafeUninitializedCapacity: data.length) { buffer, count in
      count = unsafe data.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }
}

/// What the threads of all processes of a volume share.
///
/// The processes stand here, too, so that one lock makes each call one step.
struct VolumeState: Sendable {
  var disk: Disk
  /// The advisory locks, by file.
  var locks: [FileNumber: Lock] = [:]
  /// Numbers the openings of all processes: a lock belongs to one.
  var openings = 0
  /// All processes that were ever started, by their numbers.
  var processes: [ProcessState] = []

  /// A flock(2) lock and who holds it.
  struct Lock: Sendable {
    var isExclusive: Bool
    var holders: Set<Int>
  }

  init(disk: Disk) { self.disk = disk }

  /// Takes or converts a lock.
  ///
  /// - Returns: false where another one's is in the way.
  mutating func lock(_ file: FileNumber, _ opening: Int, exclusive: Bool) -> Bool {
    var lock = locks[file] ?? Lock(isExclusive: false, holders: [])
    let others = lock.holders.subtracting([opening])
    guard others.isEmpty || !exclusive && !lock.isExclusive else {
      // A conversion gives the old lock up first (flock(2)).
      unlock(file, opening)
      return false
    }
    lock.holders.insert(opening)
    lock.isExclusive = exclusive
    locks[file] = lock
    return true
  }

  /// Ends a process: its locks go, and with it its descriptors.
  mutating func end(_ process: Int) {
    for file in processes[process].openFiles { unlock(file.number, file.opening) }
    processes[process].end()
  }

  mutating func unlock(_ file: FileNumber, _ opening: Int) {
    locks[file]?.holders.remove(opening)
    if locks[file]?.holders.isEmpty == true { locks[file] = nil }
  }
}
