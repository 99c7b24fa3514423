/// The paths of the status pages.
enum StatusPaths {
  /// The folder of the proxy's own pages.
  static let folder = "/.offlinecache/"
  /// The page for people.
  static let page = folder
  /// The same data as JSON.
  static let json = "/.offlinecache/status"
  /// The list of all sites, for people.
  static let sites = "/.offlinecache/sites"
  /// Removes a site.
  static let forget = "/.offlinecache/forget"
}
