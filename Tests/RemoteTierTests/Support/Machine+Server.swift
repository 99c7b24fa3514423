import HTTPTransports
import TestSupport

@testable import RemoteTier

extension Machine {
  /// Makes a server of a tier without a tier.
  static func server(
    _ transport: any HTTPTransport, time: TestClock = TestClock(), notices: Notices = Notices(),
    access: RemoteServer.Access = .open, _ change: (inout RemoteCacheOptions) -> Void = { _ in }
  ) throws -> TierServer {
    let server = try RemoteServer(base, access: access)
    var options = try RemoteCacheOptions(servers: [server], secret: secret)
    options.onNotice = { notices.add($0) }
    change(&options)
    return TierServer(server, options, transport: transport, clock: time.clock)
  }
}
