import HTTPTransports
import Testing

@testable import RemoteTier

struct RemoteReasonTests {
  @Test(
    arguments: [
      (.timeout, .timeout), (.certificate, .untrusted), (.pinMismatch, .untrusted),
      (.tls, .untrusted), (.protocolViolation, .garbage), (.headTooLarge, .garbage),
      (.truncatedBody, .truncated), (.cancelled, .cancelled), (.cannotResolve, .unreachable),
      (.cannotConnect, .unreachable),
    ] as [(TransportError.Code, RemoteReason)])
  func `an error of the transport has a reason`(code: TransportError.Code, reason: RemoteReason) {
    #expect(RemoteReason(TransportError(code, url: "http://a/")) == reason)
  }

  @Test func `only what a server does wrong opens its breaker`() {
    let faults: [RemoteReason] = [
      .timeout, .unreachable, .untrusted, .garbage, .redirect, .serverError, .truncated,
    ]
    let others: [RemoteReason] = [
      .absent, .noVariant, .bodyGone, .purged, .clock, .refused, .full, .badDocument, .otherKey,
      .wrongBytes, .tooLarge, .open, .off, .mode, .busy, .contended, .cancelled, .notStored,
    ]
    #expect(faults.allSatisfy { $0.isServerFault } && !others.contains { $0.isServerFault })
    let names = (faults + others).map(\.description)
    #expect(Set(names).count == names.count && names.allSatisfy { $0.hasPrefix("remote-") })
  }
}
