import CacheFormat
package import MessageDigests
import Synchronization

/// What a guarded server lets in.
package enum Guard: Sendable {
  case basic
  case digest(DigestAlgorithm, isSession: Bool)
  case bearer
}

/// Checks credentials as a server does; each nonce is good for a number of requests.
package final class GuardedOrigin: Sendable {
  private struct State {
    var nonce = 1
    var uses: UInt32 = 0
    /// The nonces that are good for one request each.
    var unused: Set<String> = []
    /// The client's nonce of the first request with each nonce, which is part of the key of a session.
    var clientNonces: [String: String] = [:]
    var admitted: [String] = []
  }

  package static let user = "Jäsøn \"Doe\""
  package static let password = "pass:wörd"

  private let kind: Guard
  private let usesPerNonce: UInt32
  private let hasOneTimeNonces: Bool
  private let state = Mutex(State())

  /// - Parameter hasOneTimeNonces: Whether each refusal has a nonce of its own, which is good for one
  ///   request. The server does not say that one is too old.
  package init(_ kind: Guard, usesPerNonce: UInt32 = .max, hasOneTimeNonces: Bool = false) {
    self.kind = kind
    self.hasOneTimeNonces = hasOneTimeNonces
    self.usesPerNonce = usesPerNonce
  }

  /// The `nc` of the requests that were let in.
  package var counts: [String] { state.withLock { $0.admitted } }

  /// Starts a new nonce, without a word.
  package func renewNonce() {
    state.withLock { ($0.nonce, $0.uses) = ($0.nonce + 1, 0) }
  }

  package func answer(_ request: HTTPRequest) -> ScriptedTransport.Answer {
    let sent = request.fields.first(named: "Authorization")?.text ?? ""
    switch kind {
    case .basic:
      let isRight =
        sent == "Basic " + Base64.encode(Array("\(Self.user):\(Self.password)".utf8))
      return isRight ? welcome(request) : refusal("Basic realm=\"r\", charset=\"UTF-8\"")
    case .bearer:
      return sent == "Bearer abc.def" ? welcome(request) : refusal("Bearer realm=\"r\"")
    case .digest(let function, let isSession):
      return digest(request, sent, function, isSession)
    }
  }

  private func digest(
    _ request: HTTPRequest, _ sent: String, _ function: DigestAlgorithm, _ isSession: Bool
  ) -> ScriptedTransport.Answer {
    state.withLock { state in
      if hasOneTimeNonces { state.nonce += 1 }
      let nonce = "nonce\(state.nonce)"
      let algorithm = function.rawValue.uppercased() + (isSession ? "-sess" : "")
      let demand =
        "Digest realm=\"r \\\"q\\\"\", qop=\"auth\", algorithm=\(algorithm), opaque=o, nonce="
      guard
        let got = Challenge.all(in: [HTTPField("WWW-Authenticate", sent)]).first,
        got.isScheme("Digest"), let theirs = got["nonce"], let count = got["nc"]
      else {
        state.unused.insert(nonce)
        return refusal(demand + nonce)
      }
      let clientNonce = got["cnonce"] ?? ""
      let first = state.clientNonces[theirs, default: clientNonce]
      let expected = Self.response(
        to: request, function, sessionNonce: isSession ? first : nil, nonce: theirs, count: count,
        clientNonce: clientNonce)
      guard got["response"] == expected, got["opaque"] == "o", got["realm"] == "r \"q\"" else {
        return refusal(demand + nonce)
      }
      state.clientNonces[theirs] = first
      if hasOneTimeNonces {
        if state.unused.remove(theirs) != nil { return welcome(request) }
        state.unused.insert(nonce)
        return refusal(demand + nonce)
      }
      guard theirs == nonce, state.uses < usesPerNonce, UInt32(count, radix: 16) == state.uses + 1
      else {
        (state.nonce, state.uses) = (state.nonce + 1, 0)
        return refusal(demand + "nonce\(state.nonce), stale=true")
      }
      state.uses += 1
      state.admitted.append(count)
      return welcome(request)
    }
  }

  /// Computes the value of `response` (RFC 7616, section 3.4.1).
  private static func response(
    to request: HTTPRequest, _ function: DigestAlgorithm, sessionNonce: String?, nonce: String,
    count: String, clientNonce: String
  ) -> String {
    func hash(_ parts: String...) -> String {
      MessageDigest.of(Array(parts.joined(separator: ":").utf8), function).hexadecimal
    }
    var key = hash(user, "r \"q\"", password)
    if let sessionNonce { key = hash(key, nonce, sessionNonce) }
    let subject = hash(request.method.rawValue, request.url.target)
    return hash(key, nonce, count, clientNonce, "auth", subject)
  }

  private func welcome(_ request: HTTPRequest) -> ScriptedTransport.Answer {
    ScriptedTransport.Answer(
      "secret", fields: [HTTPField("Cache-Control", "private, max-age=1000")])
  }

  private func refusal(_ demand: String) -> ScriptedTransport.Answer {
    ScriptedTransport.Answer(
      "who are you", status: 401, fields: [HTTPField("WWW-Authenticate", demand)])
  }
}
