// What the system of a mobile device wants to know of a cache.
extension OfflineCache {
  /// Writes the last access times, and closes the store: call it before the program ends, or before its
  /// folder is deleted. May be called again. Blocks while the disk works.
  ///
  /// Cancel requests that still run before: their bodies would keep a file in `staging`. Later requests, and
  /// those that run, are answered by the network alone, and nothing is stored; calls
  /// for what is stored throw `closed` or find nothing. Downloads to files go on.
  ///
  /// A cache that is released closes itself, but one in a global variable, also of `main.swift`, is never
  /// released. A program that ends without it loses no responses, but the access times of the last second,
  /// by which responses are evicted. The next opening then compares journal and files in the background,
  /// and until then `cachefsck` reports what is left in `staging`.
  public func close() { client.close() }

  /// Releases the lock on the store until the next write: call it before the app is suspended, if
  /// `directory` is in a container that the app shares with its extensions. Otherwise the system may
  /// end the app (`0xdead10cc`).
  ///
  /// Cancel requests first: a body over 64 KiB has the lock while it arrives. Downloads have locks of
  /// their own: pause or cancel them. See `Store.relinquish`.
  ///
  /// - Returns: Whether the lock is released.
  @discardableResult
  public func relinquish() -> Bool { store.relinquish() }

  /// Releases the memory of stored responses that are requested often, and removes the responses that
  /// are kept in memory only (`allowedInMemoryOnly`). On Apple platforms a cache calls this itself when
  /// the system is short of memory.
  public func emptyMemory() { client.emptyMemory() }

  #if canImport(Darwin)
    /// Applies the options for the files: those in the directory, and by inheritance those that are
    /// made later.
    ///
    /// - Throws: `fileProtectionFailed`.
    static func setAttributes(
      of directory: URL, _ options: OfflineCacheOptions
    ) throws(StoreError) {
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
        try protect("\(directory.path)/\(name)", protection)
      }
      // Last: it shows that the others are done.
      try protect(directory.path, protection)
    }

    private static func protect(
      _ path: String, _ protection: FileProtectionType
    ) throws(StoreError) {
      do {
        try FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
      } catch {
        // Another thread or process may have removed it meanwhile.
        guard FileManager.default.fileExists(atPath: path) else { return }
        throw StoreError(
          .fileProtectionFailed, path: path,
          cause: "it cannot get the data protection class '\(protection.rawValue)' "
            + "(\(error.localizedDescription))",
          remedy: "open the cache when protected data is available; on a volume without data "
            + "protection, leave `fileProtection` nil")
      }
    }
  #endif
}
