import CacheSystem
import SimulatedFiles

extension FaultyFiles {
  /// Makes files that refuse whatever would change them, and do something before one is opened.
  static func watched(
    beforeOpening: @escaping @Sendable (String) -> Void = { _ in }
  ) -> FaultyFiles {
    let files = FaultyFiles()
    files.faults.set { call in
      if call.writes { return .readOnlyFileSystem }
      if call.kind == .open { beforeOpening(call.name) }
      return nil
    }
    return files
  }

  /// The calls that watched files have refused.
  var refused: [String] { faults.calls.filter(\.writes).map { "\($0.kind) \($0.name)" } }
}

extension FileCall {
  /// Whether files that are only read have no need of it.
  fileprivate var writes: Bool {
    isChange || kind == .synchronize || !options.isDisjoint(with: [.write, .create])
  }
}
