package import CacheFormat
package import CacheSystem

// store.json: read, made, or restored from the journal or the tree.
extension StorePlace {
  static func readOrMakeDescription(
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) -> StoreDescription {
    let files = options.fileSystem
    var unreadable: StoreError?
    if let bytes = try descriptionBytes(root, path, files, &unreadable) {
      do throws(FormatError) {
        return try StoreDescription(decoding: bytes)
      } catch  where error.code == .newerFormat {
        throw .newerFormat("\(path)/store.json", error.detail)
      } catch {
        // Damaged: restored below.
      }
    }
    let restored = restorable(root, files, options.clock)
    // It may be whole, and all the rest be out of reach for the same reason: a new seed would make
    // every entry a foreign one.
    if restored == nil, let unreadable { throw unreadable }
    // Without any trace of the old seed there is nothing that a new one could contradict.
    let description =
      restored ?? newDescription(options.clock)
    if !options.isReadOnly {
      try system("\(path)/store.json") { () throws(SystemError) in
        try setAsideUnlessFile(Layout.description, root, options)
        try write(description, root, files, synced: options.durability == .full)
      }
    }
    return description
  }

  /// A description for a new store.
  package static func newDescription(_ clock: any WallClock) -> StoreDescription {
    StoreDescription(
      id: randomID(), hashSeed: .random(in: .min ... .max),
      created: Timestamp(nanoseconds: clock.now()))
  }

  private static func randomID() -> StoreDescription.ID {
    .init(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
  }

  /// The bytes of store.json, or nil where it is missing or no readable file.
  ///
  /// - Parameter unreadable: set where the system cannot read it, though it may be whole.
  private static func descriptionBytes(
    _ root: borrowing Descriptor, _ path: String, _ files: any FileSystem,
    _ unreadable: inout StoreError?
  ) throws(StoreError) -> [UInt8]? {
    do throws(SystemError) {
      return try files.readFile(
        Layout.description, in: root, limit: StoreDescription.maximumBytes)
    } catch  where error.isPermission || error.isOutOfDescriptors {
      throw StoreError(error, path: "\(path)/store.json")
    } catch {
      let isThere = error != .notFound && !error.isWrongKind && error != .tooLarge
      if isThere { unreadable = StoreError(error, path: "\(path)/store.json") }
      return nil
    }
  }

  /// What the segments of the journal say of the store.
  static func fromJournal(
    _ journal: borrowing Descriptor, _ files: any FileSystem
  ) -> StoreDescription? {
    for name in names(in: journal, files, most: 1000) where Layout.segmentNumber(name) != nil {
      guard let file = try? files.open(name, in: journal, [.read]),
        let bytes = try? files.readBytes(file, count: SegmentHeader.count, at: 0),
        case .header(let header) = SegmentHeader.read(bytes)
      else { continue }
      return StoreDescription(
        id: header.storeID, hashSeed: header.hashSeed, created: header.created)
    }
    return nil
  }

  /// The seed that the metadata files carry; the store gets a new id.
  static func fromTree(
    _ root: borrowing Descriptor, _ files: any FileSystem, _ clock: any WallClock
  ) -> StoreDescription? {
    guard let entries = try? files.open(Layout.entries, in: root, [.read, .directory])
    else { return nil }
    for shard in names(in: entries, files, most: 256) {
      guard let directory = try? files.open(shard, in: entries, [.read, .directory])
      else { continue }
      for key in names(in: directory, files, most: 16) {
        guard let place = try? files.open(key, in: directory, [.read, .directory])
        else { continue }
        for name in names(in: place, files, most: 16) {
          guard case .metadata = Layout.keyFile(name),
            let bytes = try? files.readFile(
              name, in: place, limit: MetadataDocument.maximumBytes),
            let document = try? MetadataDocument(decoding: bytes)
          else { continue }
          return StoreDescription(
            id: randomID(), hashSeed: document.hashSeed,
            created: Timestamp(nanoseconds: clock.now()))
        }
      }
    }
    return nil
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

  /// Writes store.json, and CACHEDIR.TAG where that is missing.
  package static func write(
    _ description: StoreDescription, _ root: borrowing Descriptor, _ files: any FileSystem,
    synced: Bool
  ) throws(SystemError) {
    let raw = root.raw
    if (try? files.status(at: Layout.backupTag, in: raw)) == nil {
      try files.writeNew(Layout.backupTag, in: root, Array(Layout.backupTagText.utf8))
    }
    try? files.removeFile(Layout.newDescription, in: raw)
    try files.writeNew(Layout.newDescription, in: root, description.encoded(), synced: synced)
    try? files.removeDirectory(Layout.description, in: raw)
    try files.rename(Layout.newDescription, in: raw, to: Layout.description, in: raw)
    if synced { try files.synchronize(root, names: true) }
  }
}

extension StoreError {
  static func newerFormat(_ path: String, _ detail: String) -> StoreError {
    StoreError(
      .newerFormat, path: path, cause: detail, remedy: "use a newer version of OfflineCache")
  }
}
