import ClientTesting
import HTTPAuthentication
import Testing

@testable import HTTPDownloads

struct DownloadRequestTests {
  private let request = DownloadRequest(ClientTesting.request("/a"), to: "/f")

  @Test func `requests are one download if they ask for the same content in the same file`() {
    #expect(request.isAnswered(as: request))
    let same: [(inout DownloadRequest) -> Void] = [
      { $0.priority = 5 }, { $0.transport.idleTimeout = .seconds(1) },
    ]
    for change in same {
      var other = request
      change(&other)
      #expect(request.isAnswered(as: other))
    }
    let others: [(inout DownloadRequest) -> Void] = [
      { $0.request.url = ClientTesting.request("/b").url }, { $0.file = "/g" },
      { $0.request.fields.append(HTTPField("Accept", "x")) }, { $0.replacesOthers = false },
      { $0.expiry = DownloadExpiry(after: 1) }, { $0.reuse = .never }, { $0.resumes = false },
      { $0.maximumRedirects = 1 }, { $0.credential = .token("t") }, { $0.user = "u" },
      { $0.loginState = 1 }, { $0.transport.allowsInsecureRedirects = true },
    ]
    for (index, change) in others.enumerated() {
      var other = request
      change(&other)
      #expect(!request.isAnswered(as: other), "\(index)")
    }
  }

  @Test func `a whole file is asked for without range and conditions`() {
    let fields: HTTPFields = [
      HTTPField("range", "bytes=0-"), HTTPField("If-Range", "x"), HTTPField("IF-NONE-MATCH", "*"),
      HTTPField("If-Modified-Since", "x"), HTTPField("Accept", "y"), HTTPField("Range", "z"),
    ]
    let whole = ClientTesting.request("/a", fields).forWholeContent()
    #expect(whole.fields.map(\.name) == ["Accept"])
    #expect(whole.url == ClientTesting.request("/a").url)
  }

  @Test func `an expiry is never negative`() {
    #expect(DownloadExpiry(after: -5).seconds == 0 && DownloadExpiry(after: .min).seconds == 0)
    #expect(DownloadExpiry(after: .max).seconds == .max)
  }
}
