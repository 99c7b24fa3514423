enum StatusPaths {
  static let folder = "/.offlinecache/"
  static let page = folder
  static let json = "/.offlinecache/status"
  static let sites = "/.offlinecache/sites"
  /// Removes a site.
  static let forget = "/.offlinecache/forget"
}
