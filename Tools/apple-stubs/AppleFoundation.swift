// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Foundation of Apple platforms, which has the URL loading system in itself.
import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking
import Network
import Security

/// https://developer.apple.com/documentation/corefoundation/cfrunloop
public final class CFRunLoop {}

/// https://developer.apple.com/documentation/corefoundation/cfrunloopwakeup(_:)
public func CFRunLoopWakeUp(_ loop: CFRunLoop!) {}

extension RunLoop {
  /// https://developer.apple.com/documentation/foundation/runloop/getcfrunloop()
  public func getCFRunLoop() -> CFRunLoop { CFRunLoop() }
}

public typealias CFWriteStream = OutputStream

/// https://developer.apple.com/documentation/corefoundation/cfwritestreamsetdispatchqueue(_:_:)
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream!, _ queue: DispatchQueue!) {}

extension Stream {
  /// https://developer.apple.com/documentation/foundation/stream/getboundstreams(withbuffersize:inputstream:outputstream:)
  public class func getBoundStreams(
    withBufferSize size: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
    outputStream: UnsafeMutablePointer<OutputStream?>?
  ) {}
}

/// https://developer.apple.com/documentation/dispatch/dispatchsourcememorypressure
public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {}

extension DispatchSource {
  /// https://developer.apple.com/documentation/dispatch/dispatchsource/memorypressureevent
  public struct MemoryPressureEvent: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let warning = MemoryPressureEvent(rawValue: 2)
    public static let critical = MemoryPressureEvent(rawValue: 4)
  }

  /// https://developer.apple.com/documentation/dispatch/dispatchsource/makememorypressuresource(eventmask:queue:)
  public class func makeMemoryPressureSource(
    eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMemoryPressure { fatalError() }
}

// Foundation on Linux has these names, and does not let them be used. `Tools/check-apple` writes them
// with `apple` before them.
public let appleNSURLAuthenticationMethodServerTrust = "trust"
public let appleNSURLAuthenticationMethodClientCertificate = "certificate"

// https://developer.apple.com/documentation/foundation/urlsessionconfiguration
extension URLSessionConfiguration {
  public class func appleBackground(withIdentifier: String) -> URLSessionConfiguration {
    .ephemeral
  }
  public var appleWaitsForConnectivity: Bool {
    get { true }
    set {}
  }
  #if os(iOS)
    public enum AppleMultipathServiceType: Sendable { case none, handover, interactive, aggregate }
    public var appleMultipathServiceType: AppleMultipathServiceType {
      get { .none }
      set {}
    }
  #endif
  public var allowsExpensiveNetworkAccess: Bool {
    get { true }
    set {}
  }
  public var allowsConstrainedNetworkAccess: Bool {
    get { true }
    set {}
  }
  public var proxyConfigurations: [ProxyConfiguration] {
    get { [] }
    set {}
  }
}

// https://developer.apple.com/documentation/foundation/urlprotectionspace/servertrust
extension URLProtectionSpace {
  public var serverTrust: SecTrust? { nil }
}

// https://developer.apple.com/documentation/foundation/urlcredential
extension URLCredential {
  public convenience init(trust: SecTrust) {
    self.init(user: "", password: "", persistence: .none)
  }
  public convenience init(
    identity: SecIdentity, certificates: [Any]?, persistence: URLCredential.Persistence
  ) {
    self.init(user: "", password: "", persistence: persistence)
  }
}
