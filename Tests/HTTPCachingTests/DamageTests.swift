import CacheFormat
import CacheStore
import Foundation
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct DamageTests {
  /// What happens to the file of a body.
  enum Damage: CaseIterable {
    case flipFirst, flipMiddle, flipLast, cut, empty, longer, gone
  }

  /// Small ones in all ways; the longest, which takes its time, where it differs from the others.
  private static let cases: [(Damage, Int)] =
    Damage.allCases.flatMap { damage in [1, 1000, 300_000].map { (damage, $0) } } + [
      (.flipMiddle, 20_000_000), (.flipLast, 20_000_000), (.cut, 20_000_000),
    ]
  private let fresh: HTTPFields = [
    HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", "\"1\""),
  ]

  private func apply(_ damage: Damage, to path: String) throws {
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    let length = try handle.seekToEnd()
    switch damage {
    case .flipFirst: try flip(handle, at: 0)
    case .flipMiddle: try flip(handle, at: length / 2)
    case .flipLast: try flip(handle, at: length - 1)
    case .cut: try handle.truncate(atOffset: length - 1)
    case .empty: try handle.truncate(atOffset: 0)
    case .longer: try handle.write(contentsOf: Data([1]))
    case .gone: try FileManager.default.removeItem(atPath: path)
    }
    try handle.close()
  }

  private func flip(_ handle: FileHandle, at offset: UInt64) throws {
    try handle.seek(toOffset: offset)
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data([byte ^ 0x10]))
  }

  @Test(
    arguments: cases)
  func `a damaged body is never served as whole, and the next storing of the same bytes heals it`(
    damage: Damage, size: Int
  ) throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce))
    let body = content(size)
    try sandbox.load(request(), head(200, fresh), body)
    #expect(try sandbox.served(request())?.body == body)
    try apply(damage, to: try #require(sandbox.bodies.first))
    // The length is seen before the head goes out, and up to a size the bytes are, too.
    let isLate = size > ResponseCache.verifiedBytes && "\(damage)".hasPrefix("flip")
    switch sandbox.decide(request()) {
    case .forward(let forwarding):
      #expect(!isLate)
      #expect(forwarding.reason == .damaged)
      #expect(!forwarding.request.fields.contains("If-None-Match"))
      // The entry is set aside by now.
      #expect(
        words(sandbox.decide(request(), policy: .offline))
          == "refuse: the stored response is damaged")
    case .serve(let serving):
      #expect(isLate)
      #expect(throws: StoreError.self) { try Served(serving) }
    case .refuse: Issue.record("a request that may go to the network is refused")
    }
    try sandbox.load(request(), head(200, fresh), body)
    #expect(try sandbox.served(request())?.body == body)
    if size == 1000 {
      // Nothing is known of the damage any more.
      sandbox.cache.invalidate(sandbox.cache.key(of: request()), at: moment(0))
      #expect(sandbox.forward(request(), policy: .protocolRules)?.reason == .absent)
      try sandbox.load(request(), head(200, fresh), body)
    }
    try sandbox.reopen()
    #expect(try sandbox.served(request(), policy: .offline)?.body == body)
  }

  @Test(arguments: [1000, 300_000])
  func `a range of a body up to 16 MiB is cut from verified bytes alone`(size: Int) throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce))
    try sandbox.load(request(), head(200, fresh), content(size))
    try apply(.flipMiddle, to: try #require(sandbox.bodies.first))
    let asked = request("/a", [HTTPField("Range", "bytes=0-9")])
    #expect(words(sandbox.decide(asked)) == "forward: the stored response is damaged")
  }

  @Test(arguments: [100, 150_000])
  func `a damaged part spoils no answer`(size: Int) throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce))
    let body = content(2 * size)
    for (first, last) in [(0, size - 1), (size, 2 * size - 1)] {
      let fields: HTTPFields = [
        HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", "\"1\""),
        HTTPField("Content-Range", "bytes \(first)-\(last)/\(2 * size)"),
      ]
      let asked = request("/a", [HTTPField("Range", "bytes=\(first)-\(last)")])
      try sandbox.load(asked, head(206, fields), Array(body[first...last]))
    }
    #expect(try sandbox.served(request())?.body == body)
    for path in sandbox.bodies { try apply(.flipLast, to: path) }
    #expect(try sandbox.served(request()) == nil)
    #expect(words(sandbox.decide(request(), policy: .offline)).hasPrefix("refuse"))
  }

  @Test func `damaged metadata is never served, whichever byte it is`() throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce))
    try sandbox.load(request(), head(200, fresh), content(100))
    sandbox.store.close()
    let names = try FileManager.default.subpathsOfDirectory(atPath: sandbox.path + "/journal")
    let journal = "\(sandbox.path)/journal/\(try #require(names.first))"
    let whole = try Data(contentsOf: URL(fileURLWithPath: journal))
    for offset in stride(from: whole.count / 3, to: whole.count, by: 7) {
      var bytes = whole
      bytes[offset] ^= 1
      try bytes.write(to: URL(fileURLWithPath: journal))
      try sandbox.reopen(Options(isReadOnly: true))
      if let served = try sandbox.served(request(), policy: .offline) {
        #expect(served.body == content(100))
        #expect(served.head.fields.first(named: "ETag")?.text == "\"1\"")
      }
    }
  }
}
