import CacheFormat
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import NginxOrigin
import Testing
import ToolTesting

@testable import RemoteTier

/// Another program on the same server: ccache, which uses the same layout.
@Suite(.timeLimit(.minutes(5)))
struct NeighbourTests {
  private static let hasCcache = Program.find("ccache") != nil && Program.find("gcc") != nil

  @Test(
    "ccache works beside the tier, and purges do not touch its data",
    .enabled(if: NginxOrigin.isInstalled && hasCcache, "nginx, ccache or gcc is not installed"))
  func ccache() async throws {
    let origin = try await NginxOrigin(
      """
      server { listen PORT0; location / {
        root FOLDER/site; dav_methods PUT DELETE; create_full_put_path on; } }
      """, in: TemporaryFolder())
    let base = origin.address(scheme: "http", host: "127.0.0.1")
    let folder = TemporaryFolder()
    try Data("int main(void) { return 3; }\n".utf8)
      .write(to: folder.url.appending(path: "a.c"))
    try await compile(folder, base, cache: "one")
    let objects = try files(origin)
    #expect(!objects.isEmpty)
    let machine = try Machine(
      try CurlTransport(NetworkSetup(proxy: .none)), bases: [base]
    ) { $0.limits.firstByte = .seconds(10) }
    await machine.offer("GET http://a.test/", Array(repeating: 1, count: 5000))
    try await machine.tier.purge(.everything)
    machine.tier.invalidate("GET http://a.test/")
    await machine.tier.drain()
    #expect(try files(origin).isSuperset(of: objects))
    // Another machine, without a cache of its own, has a hit.
    let statistics = try await compile(folder, base, cache: "two")
    #expect(statistics.contains("remote_storage_hit\t1"))
  }

  private func files(_ origin: NginxOrigin) throws -> Set<String> {
    let site = origin.folder.appending(path: "site").path
    return Set(
      try FileManager.default.subpathsOfDirectory(atPath: site)
        .filter { $0.split(separator: "/").last?.count == 64 })
  }

  /// Compiles with an empty local cache; returns ccache's statistics.
  @discardableResult
  private func compile(
    _ folder: TemporaryFolder, _ base: String, cache: String
  ) async throws -> String {
    let script = """
      export CCACHE_DIR=\(folder.path)/\(cache)
      export CCACHE_REMOTE_STORAGE='\(base)|layout=bazel'
      cd \(folder.path) && ccache gcc -c a.c -o \(cache).o && ccache --print-stats
      """
    let program = try Program("bash", ["-c", script])
    let words = await program.words.reduce(into: "") { $0 += $1 }
    #expect(try program.child.wait() == 0, "\(words)")
    return words
  }
}
