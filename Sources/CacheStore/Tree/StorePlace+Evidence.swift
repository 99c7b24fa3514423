package import CacheFormat
package import CacheSystem

// What the other files of a store say of the store that they belong to: each segment header and each
// metadata file carries the hash seed. The seed that most of them have is the store's.
extension StorePlace {
  /// The most segments, and the most metadata files, that are asked.
  private static let maximumWitnesses = 1000

  /// What most segment headers and metadata files say of a store whose store.json does not tell; nil
  /// where nothing tells its seed any more.
  package static func restorable(
    _ root: borrowing Descriptor, _ files: any FileSystem, _ clock: any WallClock
  ) -> StoreDescription? {
    let headers = segmentHeaders(root, files)
    return elected(headers, seeds(in: root, files), instead: nil, clock)
  }

  /// The description of the store to which most segment headers and metadata files belong, where that
  /// is another one than store.json says: then store.json has been replaced by that of another store.
  ///
  /// - Returns: nil where nothing contradicts store.json, or as much agrees with it.
  /// - Complexity: O(segments); only where some of them disagree, or there are none, metadata files
  ///   are read.
  package static func contradiction(
    of description: StoreDescription, _ root: borrowing Descriptor, _ files: any FileSystem,
    _ clock: any WallClock
  ) -> StoreDescription? {
    let headers = segmentHeaders(root, files)
    if !headers.isEmpty, headers.allSatisfy({ $0.hashSeed == description.hashSeed }) { return nil }
    let elected = elected(headers, seeds(in: root, files), instead: description, clock)
    return elected?.hashSeed == description.hashSeed ? nil : elected
  }

  /// The description with the seed that has the most votes; of equally many, that of `present`, else
  /// one that a segment has.
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
    // Only the journal tells the id: the store gets a new one.
    return votes.first { $0.value == most }.map { seed, _ in
      StoreDescription(
        id: randomID(), hashSeed: seed, created: Timestamp(nanoseconds: clock.now()))
    }
  }

  /// The headers of the segments that have a right one.
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

  /// The seeds that metadata files have, and how many of them each.
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

  /// The seeds of the metadata files of one key.
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
