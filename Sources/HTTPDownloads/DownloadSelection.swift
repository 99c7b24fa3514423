import CacheFormat
import HTTPAuthentication
import HTTPSemantics
import MessageDigests

private let randomKey: [UInt8] = {
  var generator = SystemRandomNumberGenerator()
  return (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}()

extension DownloaderOptions {
  /// Conceals values with a key that only this process has.
  static func concealInProcess(_ value: [UInt8]) -> [UInt8] {
    MessageDigest.authenticationCode(of: value, key: randomKey, .sha256)
  }
}

/// Which requests for its URL a downloaded file answers: those with the same credentials, with the same
/// values of the fields that `Vary` names (RFC 9111, section 4.1), and with the same `Host`.
struct DownloadSelection: Sendable, Hashable {
  /// The concealed `Authorization` and `Cookie` of the request; empty without them.
  var user = ""

  /// The concealed values of the fields that `Vary` names, and of a `Host` that is not that of the URL;
  /// empty without them.
  var fields = ""

  /// The `fields` of an answer that no other request selects (`Vary: *`), and the `user` of one that may
  /// be anybody's. In `fields`, the concealed `Host` follows if it is not that of the URL.
  static let ofNoRequest = "*"

  /// Whether no request selects the answer.
  var isOfNoRequest: Bool { fields.hasPrefix(Self.ofNoRequest) }
}

extension Downloader {
  /// Returns the requests that an answer to this one may serve. `Accept-Encoding` is left out, because
  /// a download sets it.
  func selection(of request: DownloadRequest, by head: HTTPResponseHead) -> DownloadSelection {
    var asked = request.request
    if !asked.fields.contains("Authorization") {
      if let user = request.user {
        asked.fields.append(HTTPField("Authorization", user))
      } else if let credential = request.credential {
        asked = AuthenticatingTransport.naming(credential, in: asked)
      }
    }
    return DownloadSelection(
      user: concealed([], asked, and: ["authorization", "cookie"]),
      fields: concealed(head.fields, asked, and: asked.namesAnotherHost ? ["host"] : []))
  }

  /// Returns the requests that a file with an answer to this one may serve.
  ///
  /// - Parameter user: The user that the transport has logged in for the answer.
  func selection(
    of request: DownloadRequest, by head: HTTPResponseHead, sentBy user: String?
  ) -> DownloadSelection {
    guard options.recordsLogins else { return selection(of: request, by: head) }
    var request = request
    (request.user, request.credential) = (user, nil)
    var selection = selection(of: request, by: head)
    if user == DownloadSelection.ofNoRequest { selection.user = DownloadSelection.ofNoRequest }
    return selection
  }

  /// Returns whether a file may be used for a request without asking the server.
  func isFor(_ request: DownloadRequest, _ record: DownloadRecord) -> Bool {
    record.url == request.request.url.string
      && !record.selection.isOfNoRequest
      && record.selection == selection(of: request, by: record.head)
  }

  /// Returns whether the bytes of a file may be used for a request if the server confirms them. The
  /// server may use one tag for what it sends to each of its users, so an answer for one user alone
  /// serves no other. Tokens change, and an answer that is not `private` serves all.
  func mayServe(_ request: DownloadRequest, _ record: DownloadRecord) -> Bool {
    record.url == request.request.url.string
      && mayServe(selection(of: request, by: record.head), record)
  }

  /// Returns whether the bytes of a file may be used for the requests of a selection if the server
  /// confirms them.
  func mayServe(_ selection: DownloadSelection, _ record: DownloadRecord) -> Bool {
    record.selection.fields == selection.fields
      && ((record.selection.user == selection.user && !selection.isOfNoRequest
        && selection.user != DownloadSelection.ofNoRequest)
        || ResponseDirectives(record.head.fields, rules: CacheRules()).isPrivate == .absent)
  }

  private func concealed(
    _ varying: HTTPFields, _ request: HTTPRequest, and names: [String] = []
  ) -> String {
    guard
      let selection = Selection(
        varyOf: varying, request: request.fields, and: names, conceal: options.conceal)
    else {
      // Its tag means something else to another host.
      let host = names.isEmpty ? "" : concealed([], request, and: names)
      return DownloadSelection.ofNoRequest + host
    }
    var bytes: [UInt8] = []
    for field in selection.fields where field.name != "accept-encoding" {
      guard let value = field.value else { continue }
      bytes += Array(field.name.utf8) + [0] + value + [0]
    }
    return bytes.isEmpty ? "" : options.conceal(bytes).hexadecimal
  }
}
