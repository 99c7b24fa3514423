/// Names the paths of the status pages.
enum StatusPaths {
  /// Everything below is the proxy's own.
  static let folder = "/.offlinecache/"
  /// The page for people.
  static let page = folder
  /// The same as JSON.
  static let json = "/.offlinecache/status"
}
