import Foundation
import Testing

/// `sessionprobe` in processes of their own: what they look for is crashes and hangs. By hand, with
/// 20,000 requests for each mode: `.build/debug/sessionprobe stress all 20000`.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StressTests {
  private static let executable: URL? = {
    var places = [CommandLine.arguments.first ?? "", Bundle.main.executablePath ?? ""]
    places += Bundle.allBundles.map(\.bundlePath)
    for place in places {
      var directory = URL(fileURLWithPath: place).resolvingSymlinksInPath()
      for _ in 0..<5 {
        directory.deleteLastPathComponent()
        let file = directory.appendingPathComponent("sessionprobe")
        if FileManager.default.isExecutableFile(atPath: file.path) { return file }
      }
    }
    return nil
  }()

  @Test(arguments: ["handler", "delegate", "async"])
  func `requests with random cancels complete once each`(mode: String) async throws {
    let process = Process()
    let executable = try #require(Self.executable, "sessionprobe is not beside the tests")
    process.executableURL = executable
    let seed = UInt32.random(in: 1...1_000_000)
    process.arguments = ["stress", mode, "1500", "\(seed)"]
    let output = Pipe()
    process.standardOutput = output
    let status = await withCheckedContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(returning: -1) }
    }
    let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(status == 0, "seed \(seed): \(text)")
    #expect(text.contains("1500 completed once"))
  }
}
