// Not compiled here: Linux has no SwiftUI. See Tools/Examples/Reader/README.md.
import OfflineCacheKit
import SwiftUI

@main
struct ReaderApp: App {
  /// The address of the list: a JSON array, see `Article`.
  private static let list = URL(string: "https://example.org/articles.json")!

  @State private var start = Start.opening

  private enum Start {
    case opening
    case opened(ArticlesModel)
    case failed(String)
  }

  var body: some Scene {
    WindowGroup {
      switch start {
      case .opening:
        ProgressView().task { start = Self.open() }
      case .opened(let model):
        ArticleList().environment(model)
      case .failed(let text):
        ContentUnavailableView(
          "The cache cannot be opened", systemImage: "externaldrive.badge.xmark",
          description: Text(text))
      }
    }
  }

  private static func open() -> Start {
    do throws(StoreError) {
      let folder = URL.cachesDirectory.appending(path: "reader", directoryHint: .isDirectory)
      let cache = try OfflineCache(capacity: 200 << 20, directory: folder)
      return .opened(ArticlesModel(list: list, cache: cache))
    } catch {
      return .failed(error.localizedDescription)
    }
  }
}
