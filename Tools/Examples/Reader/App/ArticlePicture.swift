// Not compiled here: Linux has no SwiftUI. See Tools/Examples/Reader/README.md.
import ImageIO
import OfflineCacheKit
import SwiftUI

/// The picture of an article, from the cache. (`AsyncImage` uses a URLSession of its own.)
struct ArticlePicture: View {
  @Environment(ArticlesModel.self) private var model
  let article: Article

  @State private var image: CGImage?

  var body: some View {
    ZStack {
      if let image {
        Image(decorative: image, scale: 1).resizable().scaledToFill()
      } else {
        Rectangle().fill(.quaternary)
      }
    }
    .frame(width: 64, height: 64)
    .clipShape(.rect(cornerRadius: 8))
    .task(id: article.image) {
      guard let data = await model.picture(of: article) else { return }
      image = await Self.thumbnail(of: data)
    }
  }

  /// Decodes a small picture, off the main thread.
  @concurrent
  private nonisolated static func thumbnail(of data: Data) async -> sending CGImage? {
    let options: [CFString: Any] = [
      kCGImageSourceCreateThumbnailFromImageAlways: true,
      kCGImageSourceCreateThumbnailWithTransform: true,
      kCGImageSourceThumbnailMaxPixelSize: 192,
    ]
    guard let source = CGImageSourceCreateWithData(data as CFData, nil) else { return nil }
    return CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary)
  }
}
