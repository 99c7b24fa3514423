enum StatusPaths {
  static let page = "/.offlinecache/"
  static let json = "/.offlinecache/status"
  static let sites = "/.offlinecache/sites"
  /// Removes a site.
  static let forget = "/.offlinecache/forget"
}
