import CacheFormat
import CacheSystem
import Synchronization
import Testing

@testable import CacheStore

@Suite struct AsyncStoreTests {
  let sandbox = StoreSandbox()

  @Test func `what is stored is found, and errors come as they are`() async throws {
    let store = try await AsyncStore.open(at: sandbox.root)
    try await store.put([1, 2, 3], for: "key", metadata: EntryMetadata(status: 200))
    #expect(await store.lookUp("key").entry?.body == [1, 2, 3])
    #expect(await store.info(for: "key")?.status == 200)
    do throws(StoreError) {
      try await store.put([], for: "")
      Issue.record("an empty key was stored")
    } catch { #expect(error.code == .keyEmpty) }
    #expect(try await store.remove("key") == 1)
    #expect(await store.lookUp("key").entry == nil)
    await store.close()
  }

  @Test func `bodies pass by stream`() async throws {
    let store = try await AsyncStore.open(at: sandbox.root)
    let body = TestBody.make(300_000, seed: 7)
    let writer = try await store.makeWriter(for: "key")
    try await store.perform { _ throws(StoreError) in try writer.write(body) }
    try await store.perform { _ throws(StoreError) in _ = try writer.commit() }
    guard case .hit(let info, let reader) = await store.read("key") else {
      Issue.record("the body is not there")
      return
    }
    #expect(info.length == 300_000)
    #expect(try reader.read(upTo: 1 << 20) == body)
  }

  @Test func `a store that cannot be opened says why`() async {
    do throws(StoreError) {
      _ = try await AsyncStore.open(
        at: sandbox.root, options: Options(createsStore: false))
      Issue.record("a store was made")
    } catch { #expect(error.code == .notFound) }
  }

  @Test func `many calls at once each end once, on no more threads than allowed`() async throws {
    let store = try await AsyncStore.open(at: sandbox.root, threads: 3)
    let gauge = Gauge()
    let done = await withTaskGroup(of: Int.self) { group in
      for number in 0..<200 {
        group.addTask {
          let result = try? await store.perform { store throws(StoreError) -> Int in
            gauge.enter()
            defer { gauge.leave() }
            try store.put([UInt8(number)], for: ByteString("k\(number)"))
            return number
          }
          return result ?? -1
        }
      }
      return await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(done == Set(0..<200))
    #expect((1...3).contains(gauge.most))
    #expect(store.store.statistics.entries == 200)
  }
}

/// Counts how many are in at the same time.
private final class Gauge: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }

  var most: Int { counts.withLock { $0.most } }
}
