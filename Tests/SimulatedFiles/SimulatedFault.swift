internal import CLibrary
package import CacheSystem

/// One call of a simulated process, as a fault sees it.
package struct SimulatedOperation: Sendable, CustomStringConvertible {
  package enum Kind: String, Sendable, CaseIterable {
    case open, openUserPath, read, write, length, truncate, synchronize, statusOf, statusAt
    case volume, makeDirectory, removeFile, removeDirectory, rename, link, changeMode, lock, list
  }

  package var kind: Kind
  /// Whether it changes the disk, or what of it is durable.
  package var isChange: Bool
  /// The path that it was given; with a descriptor, the one that this was opened by.
  var path: FileName

  package var name: String { String(decoding: path, as: UTF8.self) }

  package var description: String { "\(kind) \(name)" }

  /// Whether it may need room on the disk.
  package var takesRoom: Bool {
    isChange && [.open, .write, .makeDirectory, .link, .rename].contains(kind)
  }

  /// Whether its manual page has EINTR; the others never return it.
  package var isInterruptible: Bool {
    [.open, .openUserPath, .read, .write, .truncate, .synchronize, .lock].contains(kind)
  }

  /// Whether it needs a new descriptor.
  package var opens: Bool { [.open, .openUserPath, .list].contains(kind) }
}

/// What is to go wrong in a simulated process, and at which of its calls.
package struct SimulatedFault: Sendable {
  package enum Effect: Sendable, Hashable {
    /// The call does nothing and fails.
    case fail(SystemError)
    /// A read or write transfers a half.
    case transferHalf
    /// The process ends before the call.
    case endBefore
    /// The process ends after the call, and never sees what it returned.
    case endAfter
    /// The process ends in a write: at a page boundary where it crosses one, as Linux does, otherwise
    /// in its middle, which is worse than what Linux does.
    case endWithin
    /// The power goes after the call: all processes of the volume end.
    case losePower
  }

  package var effect: Effect
  /// Which of the calls that match it strikes, from 1 on.
  package var number: Int
  /// Whether it strikes at all that follow, too.
  package var lasts: Bool
  /// The calls that count.
  package var matches: @Sendable (SimulatedOperation) -> Bool

  /// Makes a fault; by default every call counts.
  package init(
    _ effect: Effect, at number: Int, lasts: Bool = false,
    matching matches: @escaping @Sendable (SimulatedOperation) -> Bool = { _ in true }
  ) {
    self.effect = effect
    self.number = number
    self.lasts = lasts
    self.matches = matches
  }
}

extension SystemError {
  /// What every call of a simulated process fails with once it has ended.
  package static let processEnded = SystemError(EOWNERDEAD)
}
