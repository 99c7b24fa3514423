import CacheStore
import Foundation

// What the system of a mobile device wants to know of a cache.
extension OfflineCache {
  /// Releases the lock on the store until the next write: call it before the app is suspended, if
  /// `directory` is in a container that the app shares with its extensions. Otherwise the system may
  /// end the app (`0xdead10cc`).
  ///
  /// Downloads have locks of their own: pause or cancel them first. See `Store.relinquish`.
  public func relinquish() { store.relinquish() }

  #if canImport(Darwin)
    /// Applies the options for the files: those in the directory, and by inheritance those that are
    /// made later.
    static func setAttributes(of directory: URL, _ options: OfflineCacheOptions) {
      var directory = directory
      var values = URLResourceValues()
      values.isExcludedFromBackup = options.isExcludedFromBackup
      try? directory.setResourceValues(values)
      guard let protection = options.fileProtection else { return }
      let files = FileManager.default
      let old = try? files.attributesOfItem(atPath: directory.path)[.protectionKey]
      if (old as? FileProtectionType)?.rawValue == protection.rawValue { return }
      let names = files.enumerator(atPath: directory.path)
      while let name = names?.nextObject() as? String {
        do {
          try files.setAttributes(
            [.protectionKey: protection], ofItemAtPath: "\(directory.path)/\(name)")
        } catch {
          // Another thread or process may have removed it meanwhile.
          if files.fileExists(atPath: "\(directory.path)/\(name)") { return }
        }
      }
      // Last: it shows that the others are done.
      try? files.setAttributes([.protectionKey: protection], ofItemAtPath: directory.path)
    }
  #endif
}
