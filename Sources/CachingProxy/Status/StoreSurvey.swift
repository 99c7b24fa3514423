internal import CacheFormat
internal import CacheStore

/// The result of a walk through all entries of a store.
struct StoreSurvey: Sendable {
  /// The number of names and entries in each list.
  static let listLength = 10
  /// The limit on the length of a name, in bytes; a key may have 64 KiB.
  static let maximumNameBytes = 1024

  var time = Timestamp(nanoseconds: 0)
  var nanoseconds: Int64 = 0
  var entries: UInt64 = 0
  /// The names with the most bytes: by host, by first part of the path, and by type.
  var hosts: [WeightedNames.Weight] = []
  var folders: [WeightedNames.Weight] = []
  var types: [WeightedNames.Weight] = []
  /// Scheme and host of all sites that can be counted, the one with the most bytes first.
  var sites: [WeightedNames.Weight] = []
  /// The entries with the longest bodies, the longest first.
  var largest: [SurveyedEntry] = []
  /// The least recently used entries, which are evicted next.
  var oldest: [SurveyedEntry] = []

  /// Walks through a store. It loads one entry at a time, and does not count as an access.
  ///
  /// - Parameter isStopped: Called from time to time. If it returns true, the walk ends and the
  ///   result is `nil`.
  /// - Complexity: O(entries), about one read(2) each.
  init?(of store: Store, isStopped: () -> Bool) {
    var hosts = WeightedNames()
    var sites = WeightedNames()
    var folders = WeightedNames()
    var types = WeightedNames()
    var largest = BoundedTop<UInt64, SurveyedEntry>(capacity: Self.listLength)
    var oldest = BoundedTop<Int64, SurveyedEntry>(capacity: Self.listLength)
    for info in store.entries() {
      if entries % 256 == 0 && isStopped() { return nil }
      let name = StoredName(key: info.key)
      let length = info.length
      entries += 1
      hosts.add(name.host?.shortened(toBytes: Self.maximumNameBytes) ?? "", bytes: length)
      if let scheme = name.scheme, let host = name.host, host.utf8.count <= Self.maximumNameBytes {
        sites.add("\(scheme)://\(host)", bytes: length)
      }
      folders.add(name.folder?.shortened(toBytes: Self.maximumNameBytes) ?? "", bytes: length)
      types.add(Self.mediaType(of: info), bytes: length)
      largest.offer(length, SurveyedEntry(info, name))
      // The complement reverses the order and cannot overflow.
      oldest.offer(~info.accessed.nanoseconds, SurveyedEntry(info, name))
    }
    self.hosts = hosts.heaviest(Self.listLength)
    self.sites = sites.heaviest(WeightedNames.maximumNames)
    self.folders = folders.heaviest(Self.listLength)
    self.types = types.heaviest(Self.listLength)
    self.largest = largest.elements
    self.oldest = oldest.elements
  }

  /// Returns the Content-Type without parameters, in lower case; empty if there is none.
  private static func mediaType(of info: EntryInfo) -> String {
    let field = info.fields.first {
      $0.name.count == 12 && $0.name.string?.lowercased() == "content-type"
    }
    guard let field else { return "" }
    let type = field.value.bytes.prefix { $0 != UInt8(ascii: ";") }
      .filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return String(decoding: type, as: UTF8.self).lowercased().shortened(toBytes: maximumNameBytes)
  }
}

struct SurveyedEntry: Sendable, Hashable {
  /// The URL, or the key of an entry that has none.
  var url: String
  /// The length of the body.
  var bytes: UInt64
  var stored: Timestamp
  var accessed: Timestamp

  init(_ info: EntryInfo, _ name: StoredName) {
    url = name.url.shortened(toBytes: StoreSurvey.maximumNameBytes)
    bytes = info.length
    stored = info.created
    accessed = info.accessed
  }
}
