/// The formats that can be read.
public enum SourceFormat: String, Sendable, Hashable, CaseIterable {
  /// The table `cache_entry` of OfflineCache.
  case offlinecache
  /// A Core Data store with the entity CachedURLResponse.
  case coredata
  /// Cache.db of Apple's URLCache.
  case cfnetwork
  /// manifest.sqlite of YYCache.
  case yycache
}
