// https://developer.apple.com/documentation/network
import Dispatch

/// https://developer.apple.com/documentation/network/nwpathmonitor
public final class NWPathMonitor {
  public init() {}
  public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}

/// https://developer.apple.com/documentation/network/nwpath
public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public let status: Status
  public let availableInterfaces: [NWInterface]
  public let isConstrained: Bool
  public let isExpensive: Bool
}

/// https://developer.apple.com/documentation/network/nwinterface
public struct NWInterface: Sendable {
  public let name: String
}

/// https://developer.apple.com/documentation/network/nwendpoint
public enum NWEndpoint: Sendable {
  public struct Host: Sendable, ExpressibleByStringLiteral {
    public init(_ string: String) {}
    public init(stringLiteral value: String) {}
  }
  public struct Port: Sendable, ExpressibleByIntegerLiteral {
    public init?(rawValue: UInt16) {}
    public init(integerLiteral value: UInt16) {}
  }
  case hostPort(host: NWEndpoint.Host, port: NWEndpoint.Port)
}

/// https://developer.apple.com/documentation/network/nwprotocoltls/options
public enum NWProtocolTLS {
  public final class Options {
    public init() {}
  }
}

/// https://developer.apple.com/documentation/network/proxyconfiguration
public struct ProxyConfiguration: Sendable {
  public init(httpCONNECTProxy: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {}
  public init(socksv5Proxy: NWEndpoint) {}
  public mutating func applyCredential(username: String, password: String) {}
  public var excludedDomains: [String] = []
}
