internal import CLibrary
public import CacheSystem

/// One call of a simulated process, as a fault sees it.
public struct SimulatedOperation: Sendable, CustomStringConvertible {
  public enum Kind: String, Sendable, CaseIterable {
    case open, openUserPath, read, write, length, truncate, synchronize, statusOf, statusAt
    case volume, makeDirectory, removeFile, removeDirectory, rename, link, changeMode, lock, map
    case list
  }

  public var kind: Kind
  /// Whether it changes the disk, or what of it is durable.
  public var isChange: Bool
  /// The path that it was given; with a descriptor, the one that this was opened by.
  var path: FileName

  public var name: String { String(decoding: path, as: UTF8.self) }

  public var description: String { "\(kind) \(name)" }

  /// Whether it may need room on the disk.
  public var takesRoom: Bool {
    isChange && [.open, .write, .makeDirectory, .link, .rename].contains(kind)
  }

  /// Whether its manual page has EINTR; the others never return it.
  public var isInterruptible: Bool {
    [.open, .openUserPath, .read, .write, .truncate, .synchronize, .lock].contains(kind)
  }

  /// Whether it needs a new descriptor.
  public var opens: Bool { [.open, .openUserPath, .list].contains(kind) }
}

/// What is to go wrong in a simulated process, and at which of its calls.
public struct SimulatedFault: Sendable {
  public enum Effect: Sendable, Hashable {
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

  public var effect: Effect
  /// Which of the calls that match it strikes, from 1 on.
  public var number: Int
  /// Whether it strikes at all that follow, too.
  public var lasts: Bool
  /// The calls that count.
  public var matches: @Sendable (SimulatedOperation) -> Bool

  /// Makes a fault; by default every call counts.
  public init(
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
  public static let processEnded = SystemError(EOWNERDEAD)
}
