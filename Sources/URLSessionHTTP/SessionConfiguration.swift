import CacheSystem
import Foundation
import HTTPSemantics
import HTTPTransports

#if canImport(Network)
  import Network
#endif

enum SessionConfiguration {
  /// Returns a configuration without the system's cache, cookies and credentials.
  ///
  /// - Throws: `invalidSetup` if URLSession on this platform cannot do what is asked for.
  static func make(
    _ setup: NetworkSetup, _ options: URLSessionOptions
  ) throws(TransportError) -> URLSessionConfiguration {
    if !setup.usesHTTP2 { throw refusal("URLSession cannot switch HTTP/2 off") }
    let configuration = configuration(options)
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    // No protocol that an app has registered: one of them may ask this transport.
    configuration.protocolClasses = []
    if !setup.keepsCookies { configuration.httpCookieStorage = nil }
    configuration.httpShouldSetCookies = setup.keepsCookies
    configuration.timeoutIntervalForRequest = SessionRequest.timeoutInterval
    configuration.httpMaximumConnectionsPerHost =
      setup.connectionsPerHost == 0 ? 1 << 20 : setup.connectionsPerHost
    #if canImport(Darwin)
      configuration.waitsForConnectivity = options.waitsForConnectivity
      configuration.allowsCellularAccess = options.allowsCellularAccess
      configuration.allowsExpensiveNetworkAccess = options.allowsExpensiveNetworks
      configuration.allowsConstrainedNetworkAccess = options.allowsConstrainedNetworks
      #if os(iOS) || os(visionOS)
        configuration.multipathServiceType =
          switch options.multipath {
          case .none: .none
          case .handover: .handover
          case .interactive: .interactive
          }
      #else
        if options.multipath != .none { throw refusal("this platform has no multipath") }
      #endif
      try setProxy(setup.proxy, configuration)
    #else
      if let option = options.needsApplePlatform ?? setup.needsApplePlatform {
        throw refusal("URLSession on Linux does not have \(option); use CurlTransport")
      }
    #endif
    return configuration
  }

  private static func configuration(_ options: URLSessionOptions) -> URLSessionConfiguration {
    #if canImport(Darwin)
      if let name = options.backgroundIdentifier {
        return URLSessionConfiguration.background(withIdentifier: name)
      }
    #endif
    return .ephemeral
  }

  private static func refusal(_ detail: String) -> TransportError {
    TransportError(.invalidSetup, url: "https:", detail: detail)
  }

  #if canImport(Darwin)
    private static func setProxy(
      _ proxy: NetworkSetup.Proxy, _ configuration: URLSessionConfiguration
    ) throws(TransportError) {
      switch proxy {
      case .environment: break
      case .none: configuration.connectionProxyDictionary = [:]
      case .url(let text, let except):
        guard let parts = URLComponents(string: text),
          let name = parts.host?.trimmingCharacters(in: ["[", "]"]),
          let endpoint = endpoint(name, parts.port ?? (parts.scheme == "https" ? 443 : 1080))
        else { throw refusal("the URL of the proxy is not valid") }
        var proxy: ProxyConfiguration
        switch parts.scheme {
        case "http": proxy = ProxyConfiguration(httpCONNECTProxy: endpoint)
        case "https":
          proxy = ProxyConfiguration(
            httpCONNECTProxy: endpoint, tlsOptions: NWProtocolTLS.Options())
        case "socks5", "socks5h": proxy = ProxyConfiguration(socksv5Proxy: endpoint)
        default: throw refusal("URLSession has no proxies with the scheme of the proxy's URL")
        }
        if let user = parts.user {
          proxy.applyCredential(username: user, password: parts.password ?? "")
        }
        let excepted = (except ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        if let odd = excepted.first(where: { $0.contains("/") || $0.contains("*") }) {
          throw refusal("URLSession cannot except '\(odd)' from a proxy, only domains")
        }
        proxy.excludedDomains = excepted
        configuration.proxyConfigurations = [proxy]
      }
    }

    private static func endpoint(_ host: String, _ port: Int) -> NWEndpoint? {
      UInt16(exactly: port).flatMap { NWEndpoint.Port(rawValue: $0) }.map {
        .hostPort(host: NWEndpoint.Host(host), port: $0)
      }
    }
  #endif
}

extension NetworkSetup {
  /// The reason why this set-up cannot be used on Linux, or `nil`.
  fileprivate var needsApplePlatform: String? {
    if !pins.isEmpty { return "pins" }
    if certificateAuthoritiesFile != nil { return "own certificate authorities" }
    if clientCertificate != nil { return "client certificates" }
    if case .url = proxy { return "a proxy of its own" }
    return nil
  }
}
