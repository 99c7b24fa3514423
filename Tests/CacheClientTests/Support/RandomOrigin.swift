import HTTPSemantics
import HTTPTransports
import Synchronization
import TestSupport

/// Names one representation: what it is of, and for whom.
struct Identity: Sendable, Hashable {
  var path: Int
  var version: Int
  var kind = "-"
  var user = "-"

  var text: String { "\(path)/\(version)/\(kind)/\(user)" }

  init(path: Int, version: Int) {
    self.path = path
    self.version = version
  }

  init?(_ text: String) {
    let parts = text.split(separator: "/")
    guard parts.count == 4, let path = Int(parts[0]), let version = Int(parts[1]) else {
      return nil
    }
    self.init(path: path, version: version)
    kind = String(parts[2])
    user = String(parts[3])
  }

  /// Gives the only right bytes.
  var body: [UInt8] {
    var seed: UInt64 = 0
    for byte in text.utf8 { seed = seed &* 31 &+ UInt64(byte) }
    var random = SplitMix64(seed: seed)
    let length: Int
    switch random.next() % 8 {
    case 0: length = 0
    case 1, 2, 3: length = Int(random.next() % 300)
    case 4, 5: length = 65_500 + Int(random.next() % 100)
    default: length = 100_000 + Int(random.next() % 100_000)
    }
    return Array(text.utf8).prefix(length) + random.bytes(max(0, length - text.utf8.count))
  }
}

/// Plays an origin that changes its mind, fails, and cuts its answers short.
final class RandomOrigin: HTTPTransport {
  static let paths = 8

  private struct State {
    var random: SplitMix64
    var versions = Array(repeating: 1, count: RandomOrigin.paths)
    /// The versions that a `POST` has made, once it is known to the client.
    var floors = Array(repeating: 0, count: RandomOrigin.paths)
    var open = 0
  }

  private let state: Mutex<State>

  init(seed: UInt64) {
    state = Mutex(State(random: SplitMix64(seed: seed)))
  }

  func version(of path: Int) -> Int { state.withLock { $0.versions[path] } }

  /// Gives the version that everybody must see.
  func floor(of path: Int) -> Int { state.withLock { $0.floors[path] } }

  func raiseFloor(of path: Int, to version: Int) {
    state.withLock { $0.floors[path] = max($0.floors[path], version) }
  }

  /// Counts the bodies that somebody still reads.
  var openBodies: Int { state.withLock { $0.open } }

  func roll(_ sides: UInt64) -> UInt64 { state.withLock { $0.random.next() % sides } }

  /// Paths differ in what selects their answers.
  static func varies(_ path: Int) -> Bool { path % 2 == 1 }
  /// A HEAD that tells nothing of the state freshens what is stored whatever it is (RFC 9111,
  /// section 4.3.5), so none is sent for a path without validators.
  static func hasValidator(_ path: Int) -> Bool { path % 3 != 0 || path % 2 == 0 }
  static func isPersonal(_ path: Int) -> Bool { path % 4 >= 2 }

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    await linger()
    let url = request.url.string
    if roll(20) == 0 { throw TransportError(.connectionLost, url: url) }
    let path = Int(request.url.target.dropFirst()) ?? 0
    var answer = answer(request, path)
    if request.method == .head { answer.body = [] }
    await linger()
    if Task.isCancelled { throw TransportError(.cancelled, url: url) }
    state.withLock { $0.open += 1 }
    let content = RandomBody(answer.body, isCut: answer.isCut, url: url, origin: self)
    return TransportResponse(head: answer.head, url: request.url, body: content)
  }

  fileprivate func close() { state.withLock { $0.open -= 1 } }

  /// Lets others run for a while.
  fileprivate func linger() async {
    for _ in 0..<roll(6) { await Task.yield() }
  }

  private struct Reply {
    var head: HTTPResponseHead
    var body: [UInt8] = []
    var isCut = false
  }

  private func answer(_ request: HTTPRequest, _ path: Int) -> Reply {
    if roll(20) == 0 { return Reply(head: HTTPResponseHead(status: 503), body: [0x21]) }
    let isChange = request.method.rawValue == "POST"
    if isChange || roll(10) == 0 { state.withLock { $0.versions[path] += 1 } }
    var identity = Identity(path: path, version: version(of: path))
    if Self.varies(path) { identity.kind = request.fields.first(named: "Prefer")?.text ?? "-" }
    if Self.isPersonal(path) {
      identity.user = request.fields.first(named: "Authorization")?.text ?? "-"
    }
    var fields = fields(identity)
    if isChange { return Reply(head: HTTPResponseHead(status: 200, fields: fields)) }
    if isNotModified(request, fields) {
      return Reply(head: HTTPResponseHead(status: 304, fields: fields))
    }
    let whole = identity.body
    let tellsLength = roll(2) == 0
    guard let range = range(request, fields, whole.count) else {
      let isCut = roll(12) == 0
      if tellsLength { fields.append(HTTPField("Content-Length", "\(whole.count)")) }
      let cut = isCut ? Array(whole.prefix(Int(roll(UInt64(whole.count + 1))))) : whole
      return Reply(head: HTTPResponseHead(status: 200, fields: fields), body: cut, isCut: isCut)
    }
    let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"
    fields.append(HTTPField("Content-Range", value))
    var part = Array(whole[range])
    if roll(10) == 0 {
      // A part that is not what it says: it must not be kept.
      fields.append(HTTPField("X-Bad", "1"))
      part.removeLast()
    } else if tellsLength {
      fields.append(HTTPField("Content-Length", "\(part.count)"))
    }
    return Reply(head: HTTPResponseHead(status: 206, fields: fields), body: part)
  }

  private func isNotModified(_ request: HTTPRequest, _ fields: HTTPFields) -> Bool {
    if let tags = request.fields.first(named: "If-None-Match")?.text {
      return fields.first(named: "ETag").map { tags.contains($0.text) } ?? false
    }
    guard let date = request.fields.first(named: "If-Modified-Since") else { return false }
    return fields.first(named: "Last-Modified")?.value == date.value
  }

  private func fields(_ identity: Identity) -> HTTPFields {
    let controls = [
      "max-age=5", "max-age=100", "no-cache", "no-store", "max-age=0",
      "max-age=3, stale-while-revalidate=5", "max-age=3, stale-if-error=10",
      "max-age=2, must-revalidate",
    ]
    var fields: HTTPFields = [
      HTTPField("X-Id", identity.text),
      HTTPField("Cache-Control", controls[Int(roll(UInt64(controls.count)))]),
    ]
    if Self.varies(identity.path) { fields.append(HTTPField("Vary", "Prefer")) }
    // Some answers have no validator, some a weak one, and all users share theirs: servers do that.
    let tag = "\"\(identity.path)-\(identity.version)-\(identity.kind)\""
    switch identity.path % 3 {
    case 0 where Self.hasValidator(identity.path):
      let date = HTTPDate(seconds: 1_799_000_000 + Int64(identity.version))
      fields.append(HTTPField("Last-Modified", date.description))
    case 0: break
    case 1: fields.append(HTTPField("ETag", tag))
    default: fields.append(HTTPField("ETag", identity.version % 3 == 0 ? "W/\(tag)" : tag))
    }
    return fields
  }

  private func range(_ request: HTTPRequest, _ fields: HTTPFields, _ count: Int) -> Range<Int>? {
    guard let text = request.fields.first(named: "Range")?.text, roll(8) > 0 else { return nil }
    let bounds = text.dropFirst("bytes=".count).split(
      separator: "-", omittingEmptySubsequences: false
    ).map { Int($0) }
    if let condition = request.fields.first(named: "If-Range") {
      let tag = fields.first(named: "ETag")
      guard tag?.value == condition.value, tag?.text.hasPrefix("W/") == false else { return nil }
    }
    guard bounds.count == 2, let first = bounds[0], first < count else { return nil }
    return first..<min(count, bounds[1].map { $0 + 1 } ?? count)
  }
}

/// Gives bytes in pieces of any size.
final class RandomBody: TransportBody {
  private struct State {
    var rest: ArraySlice<UInt8>
    var isCancelled = false
    var isOpen = true
  }

  private let state: Mutex<State>
  private let isCut: Bool
  private let url: String
  private let origin: RandomOrigin

  init(_ bytes: [UInt8], isCut: Bool, url: String, origin: RandomOrigin) {
    state = Mutex(State(rest: bytes[...]))
    self.isCut = isCut
    self.url = url
    self.origin = origin
  }

  deinit { close() }

  private func close() {
    let wasOpen = state.withLock { state in
      defer { state.isOpen = false }
      return state.isOpen
    }
    if wasOpen { origin.close() }
  }

  var trailers: HTTPFields { [] }

  func next() async throws(TransportError) -> [UInt8]? {
    await origin.linger()
    let size = Int(1 + origin.roll(40_000))
    let (piece, isCancelled) = state.withLock { state in
      let piece = Array(state.rest.prefix(size))
      state.rest = state.rest.dropFirst(size)
      return (piece, state.isCancelled)
    }
    if isCancelled { throw TransportError(.cancelled, url: url) }
    if !piece.isEmpty { return piece }
    close()
    if isCut { throw TransportError(.truncatedBody, url: url) }
    return nil
  }

  func cancel() {
    state.withLock { $0.isCancelled = true }
    close()
  }
}
