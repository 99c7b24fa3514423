import CCurl
import CCurlLibrary
import CacheSystem
package import HTTPSemantics
package import HTTPTransports

// Connections for tunnels. libcurl makes them as it makes all others: with the proxy, the addresses
// and the name service of the set-up.
extension CurlTransport: TunnelTransport {
  /// The time limit for a connection, with the wait for a free thread.
  static let connectLimit = Duration.seconds(30)

  /// The number of connections that are made at the same time. Further ones wait.
  static let connectThreads = 512

  package func connect(to target: TunnelTarget) async throws(TransportError) -> any TunnelEnd {
    let (setup, deadline) = (setup, ContinuousClock.now + Self.connectLimit)
    return try await connecting.call { [loop] () throws(TransportError) in
      blockSignals()
      return try ConnectHandle(target, scheme: .http, setup, loop.lookUps, deadline).connect()
    }
  }

  package func upgrade(
    _ request: HTTPRequest, to target: TunnelTarget
  ) async throws(TransportError) -> UpgradeAnswer {
    let (setup, deadline) = (setup, ContinuousClock.now + Self.connectLimit)
    if request.url.scheme == .http, setup.pins(of: request.url.host) != nil {
      throw TransportError(
        .pinMismatch, url: request.url.string, detail: "a pinned host is not contacted by http")
    }
    return try await connecting.call { [loop] () throws(TransportError) in
      blockSignals()
      let server = try ConnectHandle(
        target, scheme: request.url.scheme, setup, loop.lookUps, deadline
      ).connect()
      let exchange = UpgradeExchange(request, server, deadline)
      do throws(TransportError) {
        return try exchange.answer()
      } catch {
        server.close(isBroken: false)
        throw error
      }
    }
  }
}
