/// The order in which a run works through its workloads.
extension Bench {
  /// Runs everything that was asked for.
  ///
  /// What removes files comes last, and no folder is removed before the end: for five minutes
  /// after a removal ext4 searches around the inodes it freed, and all that makes files slows down.
  func run() throws {
    let first = try fill([.store, .floor, .log, .dictionary, .sqliteTuned])
    try runAlone([.burst, .hammer, .decision, .migrate, .duplicate, .open, .large])
    let second = try fill([.sqlite, .urlcache])
    if configuration.workloads.contains(.replace) {
      for caches in [first, second] { try caches?.run(.replace) }
    }
    for caches in [first, second] { close(caches?.lanes ?? []) }
    report(first, second)
    try runAlone([.durable, .evict])
  }

  /// Fills caches and runs on them what was asked for, except `replace`, which removes files.
  private func fill(_ names: [SystemName]) throws -> FilledCaches? {
    let chosen = configuration.workloads.filter { Self.shared.contains($0) }
    guard !chosen.isEmpty, names.contains(where: { configuration.systems.contains($0) }) else {
      return nil
    }
    let caches = try FilledCaches(self, names)
    for workload in chosen where workload != .replace { try caches.run(workload) }
    return caches
  }

  private func runAlone(_ workloads: [Workload]) throws {
    for workload in workloads where configuration.workloads.contains(workload) {
      progress("\(workload.rawValue): \(workload.summary)")
      switch workload {
      case .burst: try burst()
      case .hammer: try hammer()
      case .duplicate: try duplicate()
      case .open: try open()
      case .large: try large()
      case .decision: try decision()
      case .migrate: try migrate()
      case .durable: try durable()
      case .evict: try evict()
      case .fill, .hit, .hitSettled, .hitMemory, .miss, .concurrent, .replace: break
      }
    }
  }

  private func report(_ first: FilledCaches?, _ second: FilledCaches?) {
    let rows = (first?.rows ?? []) + (second?.rows ?? [])
    let notes = (first?.notes ?? []) + (second?.notes ?? [])
    for workload in Self.shared {
      for part in workload.parts {
        let chosen = rows.filter { $0.work == part }.sorted { $0.threads < $1.threads }
        guard let row = chosen.first else { continue }
        report.print(
          "\(part): \(grouped(configuration.entryCount)) entries of \(grouped(row.body)) bytes, "
            + "seed \(configuration.seed)",
          chosen, notes: notes.filter { $0.hasPrefix(part + ":") })
      }
    }
  }

  private static let shared: [Workload] = [
    .fill, .hit, .hitSettled, .hitMemory, .miss, .concurrent, .replace,
  ]
}

extension Workload {
  /// The names its rows have in the output.
  fileprivate var parts: [String] {
    switch self {
    case .concurrent: ["\(rawValue)-hit", "\(rawValue)-store"]
    case .fill: [rawValue, "fill-settled"]
    default: [rawValue]
    }
  }
}
