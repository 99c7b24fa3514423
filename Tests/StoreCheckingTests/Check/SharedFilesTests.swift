import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

@Suite struct SharedFilesTests {
  /// Makes a store with two entries that share one body of 5,000 bytes.
  private func pair() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for key in ["a", "b"] as [ByteString] {
        try store.put([UInt8](repeating: 5, count: 5000), for: key)
      }
    }
    return sandbox
  }

  @Test func `entries that should share a body and do not are found`() throws {
    let sandbox = try pair()
    let paths = try sandbox.files(".body")
    let bytes = try sandbox.bytes(paths[1])
    try sandbox.remove(paths[1])
    try sandbox.write(paths[1], bytes)
    #expect(try sandbox.check().kinds == [.bodyUnshared])
  }

  @Test func `a body that several entries share is wrong for each, and read once`() throws {
    let sandbox = try pair()
    #expect(try sandbox.check(.deep).report.readBytes == 5000)
    try sandbox.flip(try sandbox.body(), at: 17)
    #expect(try sandbox.check(.deep).kinds == [.bodyWrong, .bodyWrong])
  }

  @Test func `a third file among those that should be one is found, too`() throws {
    let sandbox = try pair()
    try sandbox.fill { try $0.put([UInt8](repeating: 5, count: 5000), for: "c") }
    for path in try sandbox.files(".body") {
      let bytes = try sandbox.bytes(path)
      try sandbox.remove(path)
      try sandbox.write(path, bytes)
    }
    // Each is compared with the first that was read.
    #expect(try sandbox.check().kinds == [.bodyUnshared, .bodyUnshared])
    #expect(try sandbox.expectRepaired(.safe).report.lostEntries == 0)
  }
}
