#if canImport(Network)
  import Network
  public import WebKit

  extension WKWebsiteDataStore {
    /// Returns a store whose requests go through `offlinecache serve --listen 127.0.0.1:3128
    /// --intercept`. Read Docs/WebView.md first: without `--intercept` it stores plain http only.
    public static func throughLocalProxy() -> WKWebsiteDataStore {
      let store = WKWebsiteDataStore.nonPersistent()
      let proxy = NWEndpoint.hostPort(host: "127.0.0.1", port: 3128)
      store.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: proxy)]
      return store
    }
  }
#endif
