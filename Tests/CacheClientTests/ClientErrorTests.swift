import ContentCoding
import Foundation
import Testing

@testable import CacheClient

@Suite struct ClientErrorTests {
  private let url = "http://h/a"

  @Test func `every error names URL, problem and remedy, the URL once`() {
    let errors: [ClientError] = [
      ClientError(.notStored(.absent), url: url), ClientError(.notStored(.refused), url: url),
      ClientError(.notStored(.method("PUT")), url: url),
      ClientError(.notStored(.requestBody), url: url), ClientError(.timeout, url: url),
      ClientError(.cancelled, url: url), ClientError(.coding(.damaged(coding: "gzip")), url: url),
      ClientError(.tooManyRedirects(maximum: 0), url: url),
      ClientError(.tooLarge(limit: 0), url: url),
    ]
    for error in errors {
      let text = error.description
      #expect(text.hasPrefix("\(url): "), "\(text)")
      #expect(text.components(separatedBy: url).count == 2, "\(text)")
      #expect(text.contains(";") || error.isCancellation, "\(text)")
    }
  }

  @Test func `the remedy fits the reason`() {
    for (reason, remedy): (ForwardReason, String) in [
      (.mustValidate(.noCache), "allow the network"),
      (.mustValidate(.requestNoCache), "allow the network"),
      (.mustValidate(.stale(by: 9)), "allow the network"),
      (.otherVariant, "send those, or allow the network"),
      (.absent, "fetch it first, and check that it is stored"),
      (.condition("If-Match"), "allow the network"),
      (.refused, "change that rule, or allow the network"), (.closed, "open it again"),
    ] {
      #expect(ClientError(.notStored(reason), url: "x").description.hasSuffix("; \(remedy)"))
    }
  }

  @Test func `a cancellation and a missing pin are told apart`() {
    for (code, isCancellation, isPin) in [
      (.cancelled, true, false), (.pinMismatch, false, true), (.timeout, false, false),
      (.loginCancelled, false, false),
    ] as [(TransportError.Code, Bool, Bool)] {
      let error = ClientError(code, url: url)
      #expect((error.isCancellation, error.isPinMismatch) == (isCancellation, isPin))
    }
    #expect(!ClientError(.tooLarge(limit: 1), url: url).isCancellation)
  }
}
