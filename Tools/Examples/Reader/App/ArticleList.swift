// Not compiled here: Linux has no SwiftUI. See Tools/Examples/Reader/README.md.
import OfflineCacheKit
import SwiftUI

/// The list of articles, with the badge above it.
struct ArticleList: View {
  @Environment(ArticlesModel.self) private var model
  @State private var showsSettings = false

  var body: some View {
    NavigationStack {
      List {
        if let reason = model.storedReason { StoredBadge(reason: reason) }
        if let text = model.errorText {
          Label(text, systemImage: "exclamationmark.triangle").foregroundStyle(.secondary)
        }
        ForEach(model.articles) { article in
          NavigationLink(value: article) { ArticleRow(article: article) }
        }
      }
      .overlay {
        if model.articles.isEmpty {
          if model.isLoading {
            ProgressView()
          } else if model.errorText == nil {
            ContentUnavailableView("No articles", systemImage: "newspaper")
          }
        }
      }
      .navigationTitle("Reader")
      .navigationDestination(for: Article.self) { ArticlePage(article: $0) }
      .refreshable { await model.refresh() }
      .toolbar {
        #if os(macOS)
          // A Mac has no pull to refresh.
          Button("Refresh", systemImage: "arrow.clockwise") { Task { await model.refresh() } }
            .keyboardShortcut("r")
        #endif
        Button("Settings", systemImage: "gear") { showsSettings = true }
      }
      .sheet(isPresented: $showsSettings) { CacheSettings() }
    }
    .task { await model.load() }
    .task(id: model.articles) { await model.keepForOffline() }
  }
}

/// A title and its picture.
private struct ArticleRow: View {
  let article: Article

  var body: some View {
    HStack {
      if article.image != nil { ArticlePicture(article: article) }
      Text(article.title)
    }
  }
}

/// Says that a stored copy is shown, and why.
private struct StoredBadge: View {
  let reason: String

  var body: some View {
    VStack(alignment: .leading) {
      Label("Stored copy", systemImage: "arrow.down.circle").font(.headline)
      Text(reason).font(.footnote).foregroundStyle(.secondary)
    }
    .accessibilityElement(children: .combine)
  }
}
