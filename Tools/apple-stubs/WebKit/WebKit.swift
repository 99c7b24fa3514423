// https://developer.apple.com/documentation/webkit
@_exported public import Foundation

#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif

#if canImport(Network)
  public import Network
#endif

/// https://developer.apple.com/documentation/webkit/wkurlschemetask
public protocol WKURLSchemeTask: NSObjectProtocol {
  var request: URLRequest { get }
  func didReceive(_ response: URLResponse)
  func didReceive(_ data: Data)
  func didFinish()
  func didFailWithError(_ error: any Error)
}

/// https://developer.apple.com/documentation/webkit/wkurlschemehandler
@MainActor public protocol WKURLSchemeHandler: NSObjectProtocol {
  func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask)
  func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask)
}

/// https://developer.apple.com/documentation/webkit/wknavigation
@MainActor open class WKNavigation: NSObject {}

/// https://developer.apple.com/documentation/webkit/wkwebview
@MainActor open class WKWebView: NSObject {
  public init(frame: CGRect, configuration: WKWebViewConfiguration) {}

  @discardableResult open func load(_ request: URLRequest) -> WKNavigation? { nil }
}

/// https://developer.apple.com/documentation/webkit/wkwebviewconfiguration
@MainActor open class WKWebViewConfiguration: NSObject {
  public var websiteDataStore = WKWebsiteDataStore()

  open func setURLSchemeHandler(
    _ urlSchemeHandler: (any WKURLSchemeHandler)?, forURLScheme urlScheme: String
  ) {}
}

/// https://developer.apple.com/documentation/webkit/wkwebsitedatastore
@MainActor open class WKWebsiteDataStore: NSObject {
  open class func nonPersistent() -> WKWebsiteDataStore { WKWebsiteDataStore() }

  #if canImport(Network)
    public var proxyConfigurations: [ProxyConfiguration] = []
  #endif
}
