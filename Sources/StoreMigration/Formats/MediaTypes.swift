/// Guesses media types for sources that keep none.
enum MediaTypes {
  private static let byExtension = [
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "svg": "image/svg+xml", "html": "text/html", "json": "application/json",
    "css": "text/css", "js": "application/javascript", "woff2": "font/woff2",
    "bin": "application/octet-stream", "mp4": "video/mp4", "txt": "text/plain",
  ]

  /// The first bytes of the images that come under URLs without an extension.
  private static let signatures: [([UInt8], String)] = [
    ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    ([0xff, 0xd8, 0xff], "image/jpeg"),
    (Array("GIF8".utf8), "image/gif"),
  ]

  /// Gives the type by the extension of the URL's path, else by the first bytes; nil if neither tells.
  static func guess(url: String, start: [UInt8]) -> String? {
    byExtension[SourceURL.pathExtension(url)]
      ?? signatures.first { start.starts(with: $0.0) }?.1
  }
}
