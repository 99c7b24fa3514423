import CacheSystem
import Synchronization

/// The real files, until a change of the disk that is counted: that one fails, or it and all calls
/// after it, as when the process was killed there.
final class FailingFiles: ForwardingFiles {
  enum Effect: Sendable, Equatable {
    case ends
    case fails(SystemError)
    /// Files whose names end like this cannot be opened for reading.
    case cannotOpen(String)
  }
  private let effect: Effect
  private let last: Int
  private let seen = Atomic<Int>(0)

  /// Makes files whose change with this number, from 0 on, strikes.
  init(_ effect: Effect, at number: Int) {
    self.effect = effect
    last = number
  }

  /// Whether it has struck.
  var hasStruck: Bool { seen.load(ordering: .relaxed) > last }

  func willOpen(_ path: PathName, _ options: OpenOptions) throws(SystemError) {
    if options.contains(.create) { try willChange("open") } else { try willLook() }
    if case .cannotOpen(let end) = effect, options == [.read], path.text.hasSuffix("0." + end) {
      throw .inputOutput
    }
  }
  func willOpen(userPath: String, _ options: OpenOptions) throws(SystemError) { try willLook() }
  func willLook() throws(SystemError) {
    if effect == .ends, seen.load(ordering: .relaxed) > last { throw .inputOutput }
  }
  func willChange(_ call: @autoclosure () -> String) throws(SystemError) {
    let number = seen.add(1, ordering: .relaxed).oldValue
    switch effect {
    case .ends: if number >= last { throw .inputOutput }
    case .fails(let error): if number == last { throw error }
    case .cannotOpen: break
    }
  }
  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) { try willLook() }
}
