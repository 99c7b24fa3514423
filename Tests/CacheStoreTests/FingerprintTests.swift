import CacheStore
import Foundation
import Testing

@Suite struct FingerprintTests {
  @Test func `equal bytes have equal fingerprints in one store, for ever`() throws {
    let sandbox = StoreSandbox()
    let secret = Array("Basic c2VjcmV0".utf8)
    let store = try sandbox.open()
    let fingerprint = store.fingerprint(of: secret)
    #expect(fingerprint.count == 16)
    #expect(store.fingerprint(of: secret) == fingerprint)
    store.close()
    #expect(try sandbox.open().fingerprint(of: secret) == fingerprint)
  }

  @Test func `other bytes have other fingerprints`() throws {
    let store = try StoreSandbox().open()
    var seen: Set<[UInt8]> = []
    for count in 0..<300 {
      seen.insert(store.fingerprint(of: Array(repeating: 0x61, count: count)))
      seen.insert(store.fingerprint(of: Array(repeating: 0x61, count: count) + [0x62]))
    }
    #expect(seen.count == 600)
  }

  @Test func `another store has another secret`() throws {
    let secret = Array("session=1".utf8)
    let fingerprints = try (0..<20).map { _ in
      try StoreSandbox().open().fingerprint(of: secret)
    }
    #expect(Set(fingerprints).count == 20)
    #expect(fingerprints.allSatisfy { !$0.starts(with: secret.prefix(4)) })
  }
}
