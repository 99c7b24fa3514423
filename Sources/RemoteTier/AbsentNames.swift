import Synchronization

/// The names that a server did not have a moment ago: for 5 seconds after the first miss, then for
/// twice as long each time, up to 60 seconds.
final class AbsentNames: Sendable {
  private struct Absence {
    var until: Int64
    var span: Int64
  }

  static let shortest: Int64 = 5_000_000_000
  static let longest: Int64 = 60_000_000_000
  /// The most names; when there are more, all are forgotten.
  static let maximumCount = 10_000

  private let names = Mutex<[ObjectName: Absence]>([:])

  func contains(_ name: ObjectName, at now: Int64) -> Bool {
    names.withLock { names in names[name].map { now < $0.until } ?? false }
  }

  func note(_ name: ObjectName, at now: Int64) {
    names.withLock { names in
      if names.count >= Self.maximumCount, names[name] == nil { names = [:] }
      let span = names[name].map { min(2 * $0.span, Self.longest) } ?? Self.shortest
      names[name] = Absence(until: now + span, span: span)
    }
  }

  /// Forgets a name: it has been written, or purged.
  func forget(_ name: ObjectName) {
    names.withLock { names in _ = names.removeValue(forKey: name) }
  }
}
