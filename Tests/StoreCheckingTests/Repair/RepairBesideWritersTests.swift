import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct RepairBesideWritersTests {
  /// Stores, removes and reads until it is told to stop.
  private final class Writer: Sendable {
    let store: Store
    private let stops = Atomic<Bool>(false)
    private let running = Monitor(true)
    private let failures = Mutex<[String]>([])

    init(_ path: String) throws {
      store = try Store(at: path, options: Options(settling: .atOnce))
      try startThread { [self] in
        run()
        running.change { $0 = false }
      }
    }

    private func body(_ number: Int, _ version: Int) -> [UInt8] {
      Array("live\(number) \(version) ".utf8)
        + [UInt8](repeating: UInt8(truncatingIfNeeded: version), count: version % 5000)
    }

    private func run() {
      var random = SplitMix64(seed: 7)
      while !stops.load(ordering: .relaxed) {
        let number = Int.random(in: 0..<30, using: &random)
        let key = ByteString("live\(number)")
        do throws(StoreError) {
          switch Int.random(in: 0..<6, using: &random) {
          case 0, 1:
            let version = Int.random(in: 0..<100_000, using: &random)
            try store.put(body(number, version), for: key)
          case 2: try store.remove(key)
          default:
            guard case .hit(let entry) = store.lookUp(key) else { continue }
            let words = String(decoding: entry.body.prefix(40), as: UTF8.self).split(separator: " ")
            if words.count < 2 || entry.body != body(number, Int(words[1]) ?? 0) {
              failures.withLock { $0.append("wrong bytes for live\(number)") }
            }
          }
        } catch { failures.withLock { $0.append(error.description) } }
      }
    }

    /// Ends it, and tells what went wrong.
    func stop() -> [String] {
      stops.store(true, ordering: .relaxed)
      running.wait { $0 ? nil : () }
      store.close()
      return failures.withLock { $0 }
    }
  }

  @Test func `a repair beside writers mends what is damaged, and disturbs nobody`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let writer = try Writer(sandbox.root)
    var lost: Set<ByteString> = []
    for round in 1...6 {
      let key = ByteString("single\(round)")
      lost.insert(key)
      try sandbox.cut(try RepairCase.body(sandbox, key), by: 1)
      try sandbox.write("entries/stray\(round)", [1])
      if round == 3 { try sandbox.remove("CACHEDIR.TAG") }
      if round == 5 { try sandbox.makeDirectory("staging/00000000000000ab") }
      let repaired = try sandbox.repair(jobs: 2)
      #expect(repaired.unrepaired == [])
      #expect(repaired.findings.contains { $0.kind == .bodyShort })
    }
    #expect(writer.stop() == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all.filter { !lost.contains($0.key) })
  }
}
