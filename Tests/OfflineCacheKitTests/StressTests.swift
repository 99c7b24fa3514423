import Foundation
import Testing
import ToolTesting

/// `sessionprobe` in processes of their own: what they look for is crashes and hangs. By hand, with
/// 20,000 requests for each mode: `.build/debug/sessionprobe stress all 20000`.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StressTests {
  private func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
    let words = [try ToolRun.executable("sessionprobe")] + arguments
    let result = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          returning: Result { try ToolRun().run(program: words.map { Array($0.utf8) }) })
      }
    }
    return (try result.get().status, try result.get().text)
  }

  @Test(arguments: ["handler", "delegate", "async"])
  func `requests with random cancels complete once each`(mode: String) async throws {
    let seed = UInt32.random(in: 1...1_000_000)
    let (status, text) = try await run("stress", mode, "1500", "\(seed)")
    #expect(status == 0, "seed \(seed): \(text)")
    #expect(text.contains("1500 completed once"))
  }

  @Test func `the shared session goes through the cache once the class is registered`() async throws
  {
    let (status, text) = try await run("shared")
    #expect(status == 0)
    #expect(text == "shared: network, disk\n")
  }
}
