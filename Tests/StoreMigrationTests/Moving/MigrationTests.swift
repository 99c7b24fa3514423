import CacheFormat
import CacheStore
import Foundation
import HTTPCaching
import HTTPSemantics
import StoreMigration
import Testing

/// What becomes of single entries on their way into a store.
@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct MigrationTests {
  private let now = Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))

  private func move(_ source: String, _ sandbox: SourceSandbox, _ options: MigrationOptions? = nil)
    throws -> (Store, MigrationCounts)
  {
    let migration = try Migration(
      from: source, to: sandbox.path + "/store", options: options ?? sandbox.options)
    try migration.run { _ in }
    return (try #require(migration.store), migration.counts)
  }

  @Test func `times to come are taken for now, and a row without any is the oldest`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES('https://h/future', NULL, NULL, x'01', 4000000000, 4000000001, NULL),
          ('https://h/none', NULL, NULL, x'02', NULL, NULL, NULL),
          ('https://h/old', NULL, NULL, x'03', 1600000000, 1600000001, NULL);
        """)
    let (store, _) = try move(source, sandbox)
    let future = try #require(store.info(for: "GET https://h/future"))
    #expect(future.created <= future.accessed && future.accessed.seconds < now.seconds + 600)
    #expect(future.created.seconds > now.seconds - 600)
    let date = future.fields.first { $0.name == "Date" }
    #expect(date.map { !String(decoding: $0.value.bytes, as: UTF8.self).contains("1970") } == true)
    let none = try #require(store.info(for: "GET https://h/none"))
    #expect(none.accessed == Timestamp(nanoseconds: 0))
    let old = try #require(store.info(for: "GET https://h/old"))
    #expect(old.created == Timestamp(nanoseconds: 1_600_000_000 * 1_000_000_000))
    let again = try Migration(
      from: source, to: sandbox.path + "/store", options: sandbox.options)
    try again.run { _ in }
    #expect(again.counts.converted == 0)
  }

  @Test func `a dry run without a store finds what no store takes`() throws {
    let sandbox = try SourceSandbox()
    // As long as a URL may be, but the key is longer.
    let url = "https://h/" + String(repeating: "x", count: NormalizedURL.maximumLength - 10)
    let source = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES
          ('https://h/' || replace(hex(zeroblob(\((url.utf8.count - 10) / 2))), '0', 'x'),
            NULL, NULL, x'01', 1600000000, 1600000001, NULL),
          ('https://h/x', NULL, NULL, x'02', 1600000000, 1600000001, NULL);
        """)
    let plan = try Migration(
      from: source, to: sandbox.path + "/store", options: sandbox.dryRun)
    try plan.run { _ in }
    let counts = try move(source, sandbox).1
    #expect(counts.converted == 1 && counts.faults == 1)
    #expect(plan.counts.converted == 1 && plan.counts.faults == 1)
  }

  @Test func `of responses with one key, one from the future is newer, but not than the store's`()
    throws
  {
    let sandbox = try SourceSandbox()
    let source = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES('https://h/x', NULL, NULL, x'01', 1600000000, 1600000001, NULL),
          ('https://h:443/x', NULL, NULL, x'02', 4000000000, 4000000001, NULL),
          ('HTTPS://h/x', NULL, NULL, x'04', 4000000002, 4000000003, NULL);
        """)
    let (store, _) = try move(source, sandbox)
    #expect(store.lookUp("GET https://h/x").entry?.body == [2])
    for _ in 0..<2 { #expect(try move(source, sandbox).1.converted == 0) }
    // The app fetches it again.
    let cache = ResponseCache(store: store, rules: CacheRules())
    let times = ResponseTimes(request: now, response: now)
    let kept = KeptResponse(
      request: HTTPRequest(url: try NormalizedURL("https://h/x")),
      head: HTTPResponseHead(status: 200), times: times, expires: nil, userInfo: [])
    let plan = try #require(cache.adopting(kept))
    try store.put([3], for: plan.key, variant: plan.variant, metadata: plan.metadata)
    _ = try move(source, sandbox)
    #expect(store.lookUp("GET https://h/x").entry?.body == [3])
  }

  @Test func `credentials in a URL select the entry`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES
          ('https://al%20ice:p%40@h/me', NULL, NULL, x'01', 1600000000, 1600000001, NULL),
          ('https://bob@h/me', NULL, NULL, x'02', 1600000002, 1600000003, NULL);
        """)
    let (store, counts) = try move(source, sandbox)
    #expect(counts.converted == 2 && counts.replaced == 0 && counts.authorized == 2)
    let cache = ResponseCache(store: store, rules: CacheRules())
    let url = try NormalizedURL("https://h/me")
    for (login, body) in [("al ice:p@", [1]), ("bob:", [2]), ("eve:", nil), (nil, nil)]
      as [(String?, [UInt8]?)]
    {
      var request = HTTPRequest(url: url)
      if let login {
        let code = Data(login.utf8).base64EncodedString()
        request.fields.append(HTTPField("Authorization", "Basic \(code)"))
      }
      var found: [UInt8]?
      if case .serve(let serving) = cache.decide(request, policy: .offline, now: now),
        case .bytes(let bytes, _)? = serving.variant.body
      {
        found = bytes
      }
      #expect(found == body, "\(login ?? "nobody")")
    }
  }

  @Test
  func `expired entries stay behind when that is asked for`() throws {
    let sandbox = try SourceSandbox()
    try SourceGenerators.run(.cfnetwork, to: sandbox.path + "/gen", seed: 3, rows: 40)
    var options = sandbox.options
    options.dropsExpired = true
    let folder = sandbox.path + "/gen/cfnetwork_good"
    let expected = try ExpectedStore(folder: folder)
    let (store, counts) = try move("\(folder)/\(expected.store)", sandbox, options)
    let expired = try #require(RowReason(named: "expired"))
    let wanted = expected.entries.values.filter { values in
      (values["expires_unix"] as? NSNumber).map { $0.doubleValue <= now.seconds } ?? false
    }
    #expect(counts.skipped[expired, default: 0] >= wanted.count && !wanted.isEmpty)
    for values in wanted {
      let url = try NormalizedURL(values["url"] as? String ?? "")
      #expect(!store.contains(ByteString("GET \(url)")))
    }
  }

  @Test func `a dry run leaves what has expired behind, with a store and without`() throws {
    let sandbox = try SourceSandbox()
    // Fresh for a while, because it had not been changed for long.
    let fields =
      "{'Date': 'Wed, 08 Mar 2023 20:26:41 GMT', 'Last-Modified': 'Tue, 07 Mar 2023 20:26:41 GMT'}"
    let source = try authorized(sandbox, fields: fields)
    var options = sandbox.dryRun
    options.dropsExpired = true
    let plan = try Migration(from: source, to: sandbox.path + "/store", options: options)
    try plan.run { _ in }
    try Store(at: sandbox.path + "/store").close()
    let other = try Migration(from: source, to: sandbox.path + "/store", options: options)
    try other.run { _ in }
    options.isDryRun = false
    let counts = try move(source, sandbox, options).1
    #expect(counts.converted == 0 && counts.skipped.map(\.key.name) == ["expired"])
    #expect(plan.counts == counts && other.counts == counts)
  }

  /// Makes a Cache.db with answers to requests with two tokens and none.
  private func authorized(
    _ sandbox: SourceSandbox, fields: String = "{'Cache-Control': 'max-age=10'}"
  ) throws -> String {
    try sandbox.makeCacheDB(
      "Cache.db",
      """
      rows = [('a', 'Bearer 1'), ('a', 'Bearer 2'), ('b', None)]
      for n, (path, token) in enumerate(rows, 1):
          fields = {'Authorization': token} if token else {}
          add(n, 'https://h/' + path, \(fields), b'%d' % n, fields)
      """)
  }

  @Test(arguments: [false, true])
  func `entries stored with Authorization are counted, and found by others if it is ignored`(
    isIgnored: Bool
  ) throws {
    let sandbox = try SourceSandbox()
    var options = sandbox.options
    options.ignoresAuthorization = isIgnored
    let (store, counts) = try move(try authorized(sandbox), sandbox, options)
    #expect(counts.converted == 3 && counts.authorized == 2)
    let url = try NormalizedURL("https://h/a")
    func body(_ fields: HTTPFields, _ ignores: Bool) -> [UInt8]? {
      var rules = CacheRules()
      rules.ignoresAuthorization = ignores
      let cache = ResponseCache(store: store, rules: rules)
      guard
        case .serve(let serving) = cache.decide(
          HTTPRequest(url: url, fields: fields), policy: .offline, now: now),
        case .bytes(let bytes, _)? = serving.variant.body
      else { return nil }
      return bytes
    }
    let (one, new) = ("Bearer 1", "Bearer 3")
    let isFound = isIgnored ? Array("2".utf8) : nil
    #expect(body([], false) == isFound)
    #expect(body([HTTPField("Authorization", one)], false) == (isIgnored ? nil : Array("1".utf8)))
    #expect(body([HTTPField("Authorization", new)], false) == nil)
    #expect(body([HTTPField("Authorization", new)], true) == Array("2".utf8))
    #expect(body([], true) == Array("2".utf8))
  }

  @Test func `bodies that are equal are kept once`() throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<5).map { "('https://h/\($0)', NULL, NULL, zeroblob(9000), 1, 1, NULL)" }
    let source = try sandbox.database(
      "m",
      Manifest.table + "INSERT INTO manifest VALUES\(rows.joined(separator: ","))")
    let (store, _) = try move(source, sandbox)
    #expect(store.statistics.sharedBytes == 4 * 9_000)
  }

  @Test func `a body file that goes away while it is moved is a fault of its row alone`() throws {
    let sandbox = try SourceSandbox()
    try FileManager.default.createDirectory(
      atPath: sandbox.path + "/data", withIntermediateDirectories: false)
    _ = try sandbox.write("data/\(String(repeating: "a", count: 32))", [1, 2, 3])
    let source = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES
          ('https://h/1', '\(String(repeating: "a", count: 32))', 3, NULL, 1, 1, NULL),
          ('https://h/2', '\(String(repeating: "b", count: 32))', 3, NULL, 1, 1, NULL),
          ('https://h/3', NULL, 1, x'01', 1, 1, NULL);
        """)
    let (_, counts) = try move(source, sandbox)
    #expect(counts.converted == 2)
    #expect(counts.faults == 1)
  }

  @Test(
    .enabled(if: RecordedSources.areThere, RecordedSources.hint),
    arguments: [
      "cfnetwork/ios16_safari_mvs2023", "offlinecache/cache.db",
    ])
  func `all rows of real samples move and are found`(name: String) throws {
    let sandbox = try SourceSandbox()
    let source = try #require(RecordedSources.folder) + "/" + name
    let before = try FolderState(source)
    let cache = try SourceCache(path: source, temporaryFolder: sandbox.copies)
    let (store, counts) = try move(source, sandbox)
    var entries = 0
    while let row = try cache.nextRow() {
      guard case .entry(let entry) = row.outcome else { continue }
      entries += 1
      let request = HTTPRequest(
        method: HTTPMethod(rawValue: entry.method), url: try NormalizedURL(entry.url),
        fields: entry.requestFields ?? [])
      let decision = ResponseCache(store: store).decide(request, policy: .offline, now: now)
      guard case .serve(let serving) = decision else {
        Issue.record("\(entry.url) is not found")
        continue
      }
      #expect(serving.head.status == entry.status)
      #expect(serving.variant.length == entry.body.length)
    }
    #expect(counts.converted == entries)
    #expect(counts.rows == Int(cache.rowCount))
    #expect(try FolderState(source) == before)
  }
}
