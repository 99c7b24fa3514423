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
