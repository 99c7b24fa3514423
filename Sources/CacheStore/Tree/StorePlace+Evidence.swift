package import CacheFormat
package import CacheSystem

// The hash seed of a store according to its other files. Each segment header and each metadata file
// has the seed; the store's seed is the one in most of them.
extension StorePlace {
  /// The most segments, and about the most metadata files, that are read.
  private static let maximumWitnesses = 1000

  /// What a directory holds.
  package enum Content {
    case nothing, store
    /// Files of others, which must stay as they are.
    case others
  }

  /// Returns what a directory holds. Without a good store.json it is a store if a file has the seed of
  /// one, or if everything in it may be what a power cut or damage has left. Others use some of the names,
  /// too: `lock`, `journal`, CACHEDIR.TAG.
  package static func content(
    of root: borrowing Descriptor, _ files: any FileSystem, _ clock: any WallClock
  ) throws(SystemError) -> Content {
    if hasDescription(root, files) { return .store }
    var (names, hasOthers): ([PathName], Bool) = ([], false)
    try files.list(root.raw) { name, _ in
      if Layout.topNames.contains(name.text) { names.append(name) } else { hasOthers = true }
      return true
    }
    if names.isEmpty { return hasOthers ? .others : .nothing }
    var isNew = !hasOthers
    for name in names where isNew {
      // A damaged store.json is one beside other parts of a store.
      let isDescription = name.text.hasPrefix("store.json")
      isNew = isDescription && names.count > 1 || mayBeNew(name, in: root, files)
    }
    return isNew || restorable(root, files, clock) != nil ? .store : .others
  }

  /// Returns whether there is a store.json of this or a newer version, or one that cannot be read.
  private static func hasDescription(
    _ root: borrowing Descriptor, _ files: any FileSystem
  ) -> Bool {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try files.readFile(
        Layout.description, in: root, limit: StoreDescription.maximumBytes)
    } catch { return error != .notFound && error != .tooLarge }
    return StoreDescription.isDescription(bytes)
  }

  /// Returns whether a name in a directory may belong to a store that was just made.
  private static func mayBeNew(
    _ name: PathName, in root: borrowing Descriptor, _ files: any FileSystem
  ) -> Bool {
    let isPart: (PathName) -> Bool
    switch name.text {
    case "CACHEDIR.TAG", "lock", "store.json", "store.json.new":
      guard let bytes = try? files.readFile(name, in: root, limit: 1024) else { return false }
      // File systems leave files of zeros after a power cut.
      if bytes.allSatisfy({ $0 == 0 }) { return true }
      // The lengths of the first writes may be any.
      return name.text == "lock"
        && ClosingMark.magic.starts(with: bytes.prefix(ClosingMark.magic.count))
        || name.text == "CACHEDIR.TAG" && Layout.backupTagText.utf8.starts(with: bytes)
        // The first file that is synced when a store is made.
        || name.text == "store.json.new" && (try? StoreDescription(decoding: bytes)) != nil
    case "journal":
      isPart = { Layout.segmentNumber($0) != nil || Layout.journalNames.contains($0.text) }
    case "entries": isPart = { Layout.isShard($0) }
    case "staging": isPart = { Layout.isSession($0) }
    default: isPart = { _ in true }
    }
    guard let directory = try? files.open(name, in: root, [.read, .directory]) else { return false }
    return self.names(in: directory, files, most: 1000).allSatisfy(isPart)
  }

  /// Returns the description of a store whose store.json is missing or damaged, according to most
  /// segment headers and metadata files; `nil` if no file has the seed.
  package static func restorable(
    _ root: borrowing Descriptor, _ files: any FileSystem, _ clock: any WallClock
  ) -> StoreDescription? {
    let headers = segmentHeaders(root, files)
    return elected(headers, seeds(in: root, files), instead: nil, clock)
  }

  /// Returns the description of the store to which most segment headers and metadata files belong,
  /// if store.json is that of another store.
  ///
  /// - Returns: `nil` if no file contradicts store.json, if at least as many agree with it as with
  ///   any other store, or if only segments contradict it.
  /// - Complexity: O(segments). Metadata files are read only if a segment disagrees or there is
  ///   none.
  package static func contradiction(
    of description: StoreDescription, _ root: borrowing Descriptor, _ files: any FileSystem,
    _ clock: any WallClock
  ) -> StoreDescription? {
    let headers = segmentHeaders(root, files)
    if !headers.isEmpty, headers.allSatisfy({ $0.hashSeed == description.hashSeed }) { return nil }
    let seeds = seeds(in: root, files)
    guard let elected = elected(headers, seeds, instead: description, clock),
      elected.hashSeed != description.hashSeed
    else { return nil }
    // The journal alone may be that of another store, while the entries are elsewhere.
    return seeds.isEmpty && !hasMark(of: elected, root, files) ? nil : elected
  }

  /// Returns whether the store was closed with the hash seed of a description.
  private static func hasMark(
    of description: StoreDescription, _ root: borrowing Descriptor, _ files: any FileSystem
  ) -> Bool {
    guard let lock = try? files.open(Layout.lock, in: root, [.read]),
      let bytes = try? files.readBytes(lock, count: ClosingMark.count, at: 0)
    else { return false }
    return ClosingMark(decoding: bytes, hashSeed: description.hashSeed) != nil
  }

  /// Returns a description with the seed that most files have. If several seeds are equally
  /// frequent, that of `present` is preferred, then one in a segment.
  private static func elected(
    _ headers: [SegmentHeader], _ seeds: [UInt64: Int], instead present: StoreDescription?,
    _ clock: any WallClock
  ) -> StoreDescription? {
    var votes = seeds
    for header in headers { votes[header.hashSeed, default: 0] += 1 }
    guard let most = votes.values.max() else { return nil }
    if let present, votes[present.hashSeed] == most { return present }
    let ids = headers.filter { votes[$0.hashSeed] == most }
    if let header = ids.max(by: { $0.number < $1.number }) {
      return StoreDescription(
        id: header.storeID, hashSeed: header.hashSeed, created: header.created)
    }
    // Only the journal has the id, so the store gets a new one.
    return votes.first { $0.value == most }.map { seed, _ in
      StoreDescription(
        id: randomID(), hashSeed: seed, created: Timestamp(nanoseconds: clock.now()))
    }
  }

  /// Returns the intact headers of segments.
  private static func segmentHeaders(
    _ root: borrowing Descriptor, _ files: any FileSystem
  ) -> [SegmentHeader] {
    guard let journal = try? files.open(Layout.journal, in: root, [.read, .directory])
    else { return [] }
    var headers: [SegmentHeader] = []
    for name in names(in: journal, files, most: maximumWitnesses)
    where Layout.segmentNumber(name) != nil {
      guard let file = try? files.open(name, in: journal, [.read]),
        let bytes = try? files.readBytes(file, count: SegmentHeader.count, at: 0),
        case .header(let header) = SegmentHeader.read(bytes)
      else { continue }
      headers.append(header)
    }
    return headers
  }

  /// Returns the seeds in metadata files, and the number of files with each.
  private static func seeds(
    in root: borrowing Descriptor, _ files: any FileSystem
  ) -> [UInt64: Int] {
    guard let entries = try? files.open(Layout.entries, in: root, [.read, .directory])
    else { return [:] }
    var seeds: [UInt64: Int] = [:]
    var count = 0
    for shard in names(in: entries, files, most: Layout.shardCount) where count < maximumWitnesses {
      guard let directory = try? files.open(shard, in: entries, [.read, .directory])
      else { continue }
      for key in names(in: directory, files, most: 16) {
        guard let place = try? files.open(key, in: directory, [.read, .directory])
        else { continue }
        for seed in keySeeds(place, files) {
          seeds[seed, default: 0] += 1
          count += 1
        }
      }
    }
    return seeds
  }

  /// Returns the seeds in the metadata files of one key.
  private static func keySeeds(
    _ key: borrowing Descriptor, _ files: any FileSystem
  ) -> [UInt64] {
    var seeds: [UInt64] = []
    for name in names(in: key, files, most: 16) {
      guard case .metadata = Layout.keyFile(name),
        let bytes = try? files.readFile(name, in: key, limit: MetadataDocument.maximumBytes),
        let document = try? MetadataDocument(decoding: bytes)
      else { continue }
      seeds.append(document.hashSeed)
    }
    return seeds
  }

  private static func names(
    in directory: borrowing Descriptor, _ files: any FileSystem, most: Int
  ) -> [PathName] {
    var names: [PathName] = []
    try? files.list(directory.raw) { name, _ in
      names.append(name)
      return names.count < most
    }
    return names
  }
}
