import ContentCoding
import Testing

@testable import OfflineCacheKit

@Suite struct URLErrorCauseTests {
  private static let transport: [(TransportError.Code, URLError.Code)] = [
    (.invalidRequest, .badURL), (.requestBodyFailed, .requestBodyStreamExhausted),
    (.cannotResolve, .cannotFindHost), (.cannotConnect, .cannotConnectToHost),
    (.timeout, .timedOut), (.tls, .secureConnectionFailed),
    (.certificate, .serverCertificateUntrusted), (.pinMismatch, .serverCertificateUntrusted),
    (.clientCertificate, .clientCertificateRejected), (.authoritiesFile, .cannotOpenFile),
    (.connectionLost, .networkConnectionLost), (.truncatedBody, .networkConnectionLost),
    (.headTooLarge, .dataLengthExceedsMaximum), (.protocolViolation, .badServerResponse),
    (.unusableRedirect, .redirectToNonExistentLocation),
    (.insecureRequest, .appTransportSecurityRequiresSecureConnection),
    (.insecureRedirect, .appTransportSecurityRequiresSecureConnection), (.cancelled, .cancelled),
    (.loginCancelled, .userCancelledAuthentication), (.failed, .unknown), (.invalidSetup, .unknown),
    (TransportError.Code(rawValue: "of a later version"), .unknown),
  ]

  @Test(arguments: transport)
  func `an error of the network has the same code for a fetch and for a download`(
    code: TransportError.Code, expected: URLError.Code
  ) throws {
    let url = try #require(URL(string: "http://h/a"))
    let cause = TransportError(code, url: "http://h/a", detail: "why")
    let fetch = ClientError(.transport(cause), url: "http://h/a")
    let ofFetch = URLError(fetch, url: url, isOffline: false)
    #expect(ofFetch.code == expected && ofFetch.cause as? ClientError == fetch)
    #expect(ofFetch.localizedDescription == fetch.description && ofFetch.failingURL == url)
    let download = DownloadError(.transport(cause), url: "http://h/a", path: "/p")
    let ofDownload = URLError(download, url: url)
    #expect(ofDownload.code == expected && ofDownload.cause as? DownloadError == download)
    #expect(ofFetch.clientCause == fetch.cause && ofFetch.downloadCause == nil)
    #expect(ofDownload.downloadCause == download.cause && ofDownload.clientCause == nil)
  }

  @Test func `what is not stored is told apart by whether the network was to be asked`() {
    let error = ClientError(.notStored(.absent), url: "http://h/a")
    let offline = URLError(error, url: nil, isOffline: true)
    let online = URLError(error, url: nil, isOffline: false)
    #expect(offline.code == .notConnectedToInternet && online.code == .resourceUnavailable)
    #expect(offline.clientCause == error.cause && offline.failingURL == nil)
  }

  @Test(arguments: [
    ("http://user:secret@h/a?b", "http://h/a?b"), ("http://user@h/", "http://h/"),
    ("http://h/a@b", "http://h/a@b"), ("http://h/?q=a@b", "http://h/?q=a@b"),
    ("http:/user:secret@h/", nil), ("http:user:secret@h", nil), ("user:secret@h", nil),
    ("http://us%40er:sec%2Fret@h:81/", "http://h:81/"), ("//user:secret@h/", "//h/"),
  ])
  func `the URL in an error has no password`(text: String, shown: String?) throws {
    let url = try #require(URL(string: text))
    let error = URLError(.unknown, url: url, cause: "why")
    #expect(error.failingURL?.absoluteString == shown)
    #expect(!"\(error.userInfo)".contains("sec"))
  }

  @Test func `a relative URL does not bring the password of its base`() throws {
    let base = try #require(URL(string: "http://user:secret@h/dir/"))
    for text in ["b", "/b", "../b@c", "?q", "//other/b"] {
      let url = try #require(URL(string: text, relativeTo: base))
      let error = URLError(.unknown, url: url, cause: "why")
      #expect(!"\(error.userInfo)".contains("secret"), "\(text)")
    }
  }
}
