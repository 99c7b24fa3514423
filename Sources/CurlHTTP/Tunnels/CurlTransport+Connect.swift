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
    let deadline = ContinuousClock.now + Self.connectLimit
    if request.url.scheme == .http, setup.pins(of: request.url.host) != nil {
      throw TransportError(
        .pinMismatch, url: request.url.string, detail: "a pinned host is not contacted by http")
    }
    let cancellation: UpgradeExchange.Cancellation
    do throws(SystemError) {
      cancellation = try UpgradeExchange.Cancellation()
    } catch {
      throw TransportError(.failed, url: request.url.string, detail: error.description)
    }
    let result = await withTaskCancellationHandler {
      await upgrade(request, to: target, deadline, cancellation)
    } onCancel: {
      cancellation.cancel()
    }
    return try result.get()
  }

  private func upgrade(
    _ request: HTTPRequest, to target: TunnelTarget, _ deadline: ContinuousClock.Instant,
    _ cancellation: UpgradeExchange.Cancellation
  ) async -> Result<UpgradeAnswer, TransportError> {
    let setup = setup
    do throws(TransportError) {
      let answer = try await connecting.call { [loop] () throws(TransportError) in
        blockSignals()
        if cancellation.isCancelled { throw TransportError(.cancelled, url: request.url.string) }
        let server = try ConnectHandle(
          target, scheme: request.url.scheme, setup, loop.lookUps, deadline,
          isCancelled: { cancellation.isCancelled }
        ).connect()
        do throws(TransportError) {
          return try UpgradeExchange(request, server, deadline, cancellation).answer()
        } catch {
          server.close(isBroken: false)
          throw error
        }
      }
      return .success(answer)
    } catch {
      return .failure(error)
    }
  }
}
