// Not compiled here: Linux has no SwiftUI. See Tools/Examples/Reader/README.md.
import OfflineCacheKit
import SwiftUI
import WebKit

/// The page of an article, from the cache: see `CachedPages`.
struct ArticlePage: View {
  @Environment(ArticlesModel.self) private var model
  let article: Article

  var body: some View {
    WebPageView(cache: model.cache, page: article.url)
      .ignoresSafeArea(edges: .bottom)
      .navigationTitle(article.title)
      #if os(iOS)
        .navigationBarTitleDisplayMode(.inline)
      #endif
      .toolbar { ShareLink(item: article.url) }
  }
}

/// A `WKWebView` whose requests the cache answers.
private struct WebPageView {
  let cache: OfflineCache
  let page: URL

  @MainActor
  func makeView() -> WKWebView {
    let configuration = WKWebViewConfiguration()
    configuration.setURLSchemeHandler(
      CachedPages(cache: cache, server: page), forURLScheme: CachedPages.scheme)
    let view = WKWebView(frame: .zero, configuration: configuration)
    if let url = CachedPages.url(of: page) { view.load(URLRequest(url: url)) }
    return view
  }
}

#if os(macOS)
  extension WebPageView: NSViewRepresentable {
    func makeNSView(context: Context) -> WKWebView { makeView() }
    func updateNSView(_ view: WKWebView, context: Context) {}
  }
#else
  extension WebPageView: UIViewRepresentable {
    func makeUIView(context: Context) -> WKWebView { makeView() }
    func updateUIView(_ view: WKWebView, context: Context) {}
  }
#endif
