import Synchronization

/// Gives pieces as a closure makes them, and counts how often it is asked.
package final class ScriptedSource: RequestBodySource {
  private let script: @Sendable (Int) async throws -> [UInt8]?
  private let count = Mutex(0)

  package init(_ script: @escaping @Sendable (Int) async throws -> [UInt8]?) {
    self.script = script
  }

  /// Makes a source of these pieces.
  package static func of(_ pieces: [[UInt8]]) -> ScriptedSource {
    ScriptedSource { $0 < pieces.count ? pieces[$0] : nil }
  }

  package var asked: Int { count.withLock { $0 } }

  package func next() async throws -> [UInt8]? {
    let index = count.withLock { count in
      defer { count += 1 }
      return count
    }
    return try await script(index)
  }
}
