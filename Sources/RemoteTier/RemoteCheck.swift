import CacheFormat
import CacheSystem
import HTTPSemantics
package import HTTPTransports
import MessageDigests

/// What a check of a server has found out.
package struct RemoteCheckReport: Sendable {
  package struct Property: Sendable, Hashable {
    /// The meaning of the property for the use of the server.
    package enum State: String, Sendable {
      /// As it should be.
      case good
      /// The server can be used, but something is missing or slow.
      case note
      /// The server cannot be used.
      case bad
    }

    /// The name, such as `put`.
    package let name: String
    package let state: State
    /// What was seen, in words.
    package let detail: String
  }

  package let url: String
  package internal(set) var isReached = true
  package internal(set) var properties: [Property] = []

  package var isUsable: Bool { isReached && !properties.contains { $0.state == .bad } }
}

/// Finds out whether a server does what a tier needs. Writes objects with random names, and removes
/// them where the server allows it.
package struct RemoteCheck {
  private let server: TierServer
  private let options: RemoteCacheOptions
  private var report: RemoteCheckReport
  private var written: [ObjectName] = []

  private init(_ server: TierServer, _ options: RemoteCacheOptions) {
    self.server = server
    self.options = options
    report = RemoteCheckReport(url: server.url)
  }

  package static func run(
    _ options: RemoteCacheOptions, transport: any HTTPTransport
  ) async -> [RemoteCheckReport] {
    var options = options
    // What is slow is measured, and not given up.
    options.limits.connect = .seconds(5)
    options.limits.firstByte = .seconds(10)
    options.limits.whole = .seconds(30)
    options.onNotice = { _ in }
    var reports: [RemoteCheckReport] = []
    for server in options.servers {
      var check = RemoteCheck(
        TierServer(server, options, transport: transport, clock: TierClock()), options)
      await check.run()
      reports.append(check.report)
    }
    return reports
  }

  private mutating func run() async {
    await checkAll()
    // Also if the check was cancelled: nobody else knows the names.
    await Task { [written, server] in
      for name in written {
        // A server that does not answer any more would be waited for each time.
        guard (try? await server.remove(name)) != nil else { return }
      }
    }.value
  }

  private mutating func checkAll() async {
    guard await checkMissing(), await checkPurges() else { return }
    guard options.mode.writes else { return note("put", "not tried: the mode is 'read'") }
    guard await checkBody() else { return }
    await checkDocument()
    await checkSize()
  }

  /// Makes bytes that no other check has.
  private static func random(_ count: Int) -> [UInt8] {
    let words = (0...count / 8).map { _ in UInt64.random(in: .min ... .max) }
    // Safety: the bytes are copied.
    return unsafe words.withUnsafeBytes { unsafe Array($0.prefix(count)) }
  }

  private mutating func good(_ name: String, _ detail: String) { add(name, .good, detail) }
  private mutating func note(_ name: String, _ detail: String) { add(name, .note, detail) }
  private mutating func bad(_ name: String, _ detail: String) { add(name, .bad, detail) }

  private mutating func add(
    _ name: String, _ state: RemoteCheckReport.Property.State, _ detail: String
  ) {
    report.properties.append(.init(name: name, state: state, detail: detail))
  }

  private static func milliseconds(_ nanoseconds: Int64) -> String {
    "\(Double(nanoseconds / 10_000) / 100) ms"
  }
}

// The properties.
extension RemoteCheck {
  /// A name that is not there must give 404.
  private mutating func checkMissing() async -> Bool {
    let name = ObjectName.document(of: ByteString(bytes: Self.random(16)), in: options.namespace)
    let start = monotonicNanoseconds()
    do throws(RemoteReason) {
      guard case .absent = try await server.document(name) else {
        bad("missing", "a name that does not exist gives an answer; is this a log-in page?")
        return false
      }
      let time = monotonicNanoseconds() - start
      if time > 100_000_000 {
        note("missing", "404 after \(Self.milliseconds(time)): each miss waits so long")
      } else {
        good("missing", "404 after \(Self.milliseconds(time))")
      }
      return true
    } catch {
      switch error {
      case .timeout, .unreachable, .untrusted, .garbage:
        report.isReached = false
        bad("missing", "no answer (\(error)); check the URL, the certificate and the network")
      case .refused:
        bad(
          "missing",
          "401 or 403; check the credentials (with S3, a missing name gives 403 unless "
            + "the bucket may be listed)")
      default: bad("missing", "a name that does not exist gives no 404 (\(error))")
      }
      return false
    }
  }

  private var ifNew: HTTPField { HTTPField("If-None-Match", "*") }

  /// The purge list of the namespace must have been signed with this secret.
  private mutating func checkPurges() async -> Bool {
    do throws(RemoteReason) {
      guard let bytes = try await read(.purgeList(of: options.namespace)) else {
        good("purges", "none")
        return true
      }
      guard let inner = try? SignedDocument.decode(bytes, secret: options.secret),
        let list = try? PurgeList(decoding: inner, namespace: options.namespace)
      else {
        bad("purges", "the list is damaged, or was signed with another secret")
        return false
      }
      good("purges", "\(list.numbers.count) in the list")
      return true
    } catch {
      bad("purges", "the list cannot be read (\(error))")
      return false
    }
  }

  /// A body must come back as it was put.
  private mutating func checkBody() async -> Bool {
    let bytes = Self.random(64 << 10)
    let digest = MessageDigest.of(bytes, .sha256)
    let name = ObjectName.body(digest)
    // The server may have it also if there is no answer.
    written.append(name)
    do throws(RemoteReason) {
      let first = try await server.put(name, bytes, condition: ifNew)
      guard TierServer.stored.contains(first) else {
        bad("put", "status \(first) for a new body")
        return false
      }
      good("put", "status \(first)")
      guard case .whole = try await server.presence(of: name, length: UInt64(bytes.count)) else {
        bad("head", "the body that was put is not there, or has another length")
        return false
      }
      guard try await read(name) == bytes else {
        bad("get", "the body that comes back is another one")
        return false
      }
      good("get", "the same bytes came back")
      let again = try await server.put(name, bytes, condition: ifNew)
      if again == 412 || again == 409 {
        good("if-none-match", "status \(again) for a body that is there")
      } else {
        note("if-none-match", "status \(again): a body that is there is written again")
      }
      return true
    } catch {
      bad("put", "a body cannot be put and read (\(error)); \(Self.remedy(error))")
      return false
    }
  }

  private static func remedy(_ reason: RemoteReason) -> String {
    switch reason {
    case .refused: "check that PUT is allowed, and the credentials may write"
    case .full: "check the server's limits and its disk"
    default: "check the server's log"
    }
  }

  private func read(_ name: ObjectName) async throws(RemoteReason) -> [UInt8]? {
    guard case .bytes(let bytes, _) = try await server.document(name) else { return nil }
    return bytes
  }

  /// A document must come back with its signature, and should have an entity tag.
  private mutating func checkDocument() async {
    let inner = Self.random(2000)
    let name = ObjectName.document(of: ByteString(bytes: Self.random(16)), in: options.namespace)
    let bytes = SignedDocument.encode(inner, bodies: [], secret: options.secret)
    written.append(name)
    do throws(RemoteReason) {
      _ = try await server.put(name, bytes, condition: nil)
      guard case .bytes(let found, let tag) = try await server.document(name),
        let signed = try? SignedDocument.decode(found, secret: options.secret), signed == inner
      else { return bad("document", "a document does not come back with its signature") }
      good("document", found == bytes ? "came back as it was" : "rewritten, the signed part intact")
      guard let tag else {
        return note("etag", "none: documents are read in full, and two writers may lose an update")
      }
      if case .unchanged = try await server.document(name, unless: tag) {
        good("etag", "304 for a document that is known")
      } else {
        note("etag", "If-None-Match is ignored: documents are read in full")
      }
      let other = SignedDocument.encode(inner + [1], bodies: [], secret: options.secret)
      let status = try await server.put(
        name, other, condition: HTTPField("If-Match", "\"no-such-tag\""))
      if status == 412 {
        good("if-match", "two writers lose no update")
      } else {
        note("if-match", "ignored: of two writers at once one may be lost, which is a miss later")
      }
    } catch {
      bad("document", "a document cannot be put and read (\(error)); \(Self.remedy(error))")
    }
  }

  /// The length of a body, and the speed.
  private mutating func checkSize() async {
    let bytes = Self.random(8 << 20)
    let digest = MessageDigest.of(bytes, .sha256)
    let name = ObjectName.body(digest)
    written.append(name)
    do throws(RemoteReason) {
      let start = monotonicNanoseconds()
      guard TierServer.stored.contains(try await server.put(name, bytes, condition: ifNew)) else {
        return note("size", "a body of 8 MiB is not taken")
      }
      let middle = monotonicNanoseconds()
      let (response, admission) = try await server.send(
        .reading, "GET", name.path, bytes: UInt64(bytes.count))
      let body = RemoteBody(
        SharedResponse(
          SharedForm(status: 200, fields: [], requested: .distantPast, received: .distantPast),
          bodyDigest: digest, length: UInt64(bytes.count)), of: "check",
        from: (admission, response.body)
      ) { _, _ in }
      while try await body.next() != nil {}
      let end = monotonicNanoseconds()
      good(
        "size",
        "8 MiB: put in \(Self.milliseconds(middle - start)), read in "
          + Self.milliseconds(end - middle))
    } catch {
      note(
        "size",
        error == .full
          ? "a body of 8 MiB is refused (413 or 507): raise the server's limit for PUT (nginx: "
            + "client_max_body_size)" : "a body of 8 MiB cannot be put and read (\(error))")
    }
  }
}
