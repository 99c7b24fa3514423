internal import HTTPSemantics

extension MediaTypes {
  /// The first bytes of image formats, for URLs without an extension.
  private static let signatures: [([UInt8], String)] = [
    ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    ([0xff, 0xd8, 0xff], "image/jpeg"),
    (Array("GIF8".utf8), "image/gif"),
  ]

  /// Returns the type by the extension of the URL's path, or by the first bytes, or `nil` if
  /// neither is known. For sources that keep no type.
  static func guess(url: String, start: [UInt8]) -> String? {
    essence(ofEnding: SourceURL.pathExtension(url))
      ?? signatures.first { start.starts(with: $0.0) }?.1
  }
}
