/// The media types of files, by file name extension.
package enum MediaTypes {
  package static let unknown = "application/octet-stream"

  /// Returns the media type for the extension of a file name, without regard to case.
  ///
  /// Text has the charset UTF-8, except for JSON, which is always UTF-8, and for XML and SVG, which
  /// declare their own.
  package static func type(ofFile name: String) -> String {
    let last = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name.utf8.index(after: $0) }
    let base = name[(last ?? name.startIndex)...]
    guard let dot = base.utf8.lastIndex(of: UInt8(ascii: ".")) else { return unknown }
    return table[base[base.utf8.index(after: dot)...].lowercased()] ?? unknown
  }

  /// Returns the media type of a lower-case extension, without parameters; `nil` for an unknown
  /// one.
  package static func essence(ofEnding ending: String) -> String? {
    table[ending].map { String($0.prefix { $0 != ";" }) }
  }

  private static let table: [String: String] = [
    "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8",
    "xhtml": "application/xhtml+xml", "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
    "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8", "tsv": "text/tab-separated-values; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8", "ics": "text/calendar; charset=utf-8",
    "vcf": "text/vcard; charset=utf-8",
    "json": "application/json", "map": "application/json", "jsonld": "application/ld+json",
    "geojson": "application/geo+json", "webmanifest": "application/manifest+json",
    "xml": "application/xml", "rss": "application/rss+xml", "atom": "application/atom+xml",
    "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "apng": "image/apng",
    "bmp": "image/bmp", "ico": "image/vnd.microsoft.icon", "tif": "image/tiff",
    "tiff": "image/tiff", "heic": "image/heic", "heif": "image/heif", "jxl": "image/jxl",
    "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
    "ttc": "font/collection",
    "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac",
    "wav": "audio/wav", "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg",
    "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "ogv": "video/ogg",
    "mov": "video/quicktime", "m3u8": "application/vnd.apple.mpegurl", "ts": "video/mp2t",
    "pdf": "application/pdf", "epub": "application/epub+zip", "zip": "application/zip",
    "gz": "application/gzip", "tar": "application/x-tar", "bz2": "application/x-bzip2",
    "xz": "application/x-xz", "7z": "application/x-7z-compressed", "zst": "application/zstd",
    "wasm": "application/wasm", "rtf": "application/rtf", "sqlite": "application/vnd.sqlite3",
    "pbf": "application/x-protobuf", "bin": unknown,
  ]
}
