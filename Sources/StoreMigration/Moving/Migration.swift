internal import CacheFormat
package import CacheStore
internal import CacheSystem
internal import HTTPCaching
internal import HTTPSemantics

/// Moves the entries of a source into a store.
///
/// The rows are moved in the order of the source. So after a row has been reported, all rows before
/// it are done, and a later migration can continue there. Only one thread at a time may use it.
public final class Migration {
  package let source: SourceCache
  /// The destination, or `nil` if it does not exist, and nothing is written.
  package let store: Store?
  /// The counts of this run.
  public private(set) var counts = MigrationCounts()

  let cache: ResponseCache?
  let options: MigrationOptions
  let mapper: URLMapper
  private let rules: CacheRules
  private let now: Timestamp
  private let blockBytes: UInt64
  private let destination: String
  let stop: MigrationStop
  /// The rows that have room, or `nil` if all rows are to be tried.
  private var room: RoomPlan?

  /// Opens source and destination; creates the destination if it is missing.
  ///
  /// - Parameters:
  ///   - source: The database, or the folder with it.
  ///   - destination: The folder of a store. A dry run creates and writes nothing there.
  ///   - options: The options of the migration.
  ///   - stop: Ends the migration, between two pieces of a body.
  /// - Throws: All cases of ``MigrationError`` except `cancelled`.
  public init(
    from source: String, to destination: String, options: MigrationOptions,
    stop: MigrationStop = MigrationStop()
  ) throws(MigrationError) {
    try MigrationPlaces.check(source: source, destination: destination)
    self.options = options
    self.stop = stop
    self.destination = destination
    mapper = URLMapper(options.mappings)
    now = Timestamp(nanoseconds: SystemClock().now())
    do throws(SourceError) {
      self.source = try SourceCache(
        path: source, format: options.format, temporaryFolder: options.temporaryFolder,
        copyLimit: options.copyLimit, stop: stop)
    } catch { throw MigrationError(error) }
    store = try Self.open(destination, options)
    var rules = CacheRules()
    rules.ignoresAuthorization = options.ignoresAuthorization
    self.rules = rules
    cache = store.map { ResponseCache(store: $0, rules: rules) }
    blockBytes = Self.volume(at: destination)?.blockBytes ?? 4_096
  }

  private static func open(
    _ path: String, _ options: MigrationOptions
  ) throws(MigrationError) -> Store? {
    // Present entries are worth as much as new ones: a full disk ends the migration, as does a limit
    // on free space, for which an imported entry evicts none. Nobody waits for a single entry, so
    // the log would only add a write.
    let storeOptions = Options(
      settling: .atOnce, isReadOnly: options.isDryRun, createsStore: !options.isDryRun,
      evictsOnFullDisk: false, fileSystem: options.fileSystem)
    do throws(StoreError) {
      guard options.isDryRun else { return try Store(at: path, options: storeOptions) }
      var store: Store?
      do throws(StoreError) {
        store = try Store(at: path, options: storeOptions)
      } catch  where error.code == .notFound {
        // It would be made.
      }
      try StorePlace.checkWritable(path)
      return store
    } catch { throw .destination(error) }
  }

  /// Returns the bytes that are free on the volume of the destination, or `nil` if that cannot be
  /// found out.
  public static func freeBytes(at path: String) -> UInt64? { volume(at: path)?.availableBytes }

  /// Returns the inodes that are free there, or `nil` if that cannot be found out, or the file
  /// system has no such limit.
  public static func freeFiles(at path: String) -> UInt64? {
    volume(at: path).flatMap { $0.availableFiles == .max ? nil : $0.availableFiles }
  }

  /// Returns the status of the volume that a path is on, or will be on.
  static func volume(at path: String) -> VolumeStatus? {
    var path = path
    while true {
      if let place = try? RealFileSystem().open(userPath: path, [.read]) {
        return try? RealFileSystem().volume(of: place.raw)
      }
      let parent = UserPath.split(path).folder
      if parent == path { return nil }
      path = parent
    }
  }

  /// Moves the rows, or counts the rows that would be moved.
  ///
  /// - Parameters:
  ///   - row: The migration begins after this row; `nil` for the first row.
  ///   - observe: Called with each row once its entry is stored.
  /// - Throws: ``MigrationError``; the rows that were reported until then are stored.
  /// - Durability: The entries survive the death of the process at any instruction.
  public func run(after row: Int64? = nil, _ observe: (RowResult) -> Void) throws(MigrationError) {
    room = try planRoom()
    source.startAfter(row)
    let (evictions, hasLimits) = (store?.statistics.evictions ?? 0, store?.limits != Limits.none)
    while let row = try nextRow() {
      let result = try move(row)
      counts.add(result, blockBytes: blockBytes)
      if hasLimits, let store {
        counts.evicted = Int(clamping: store.statistics.evictions - evictions)
      }
      observe(result)
    }
  }

  private func nextRow() throws(MigrationError) -> SourceRow? {
    if stop.isRequested { throw .cancelled }
    do throws(SourceError) {
      return try source.nextRow()
    } catch { throw MigrationError(error) }
  }

  private func move(_ row: SourceRow) throws(MigrationError) -> RowResult {
    var mapped: String?
    var hasAuthorization = false
    func result(
      _ bytes: UInt64, _ outcome: RowResult.Outcome, _ size: MetadataSize? = nil
    ) -> RowResult {
      RowResult(
        row: row.row, key: URLMapper.shown(row.key), mappedURL: mapped, bytes: bytes,
        hasAuthorization: hasAuthorization, outcome: outcome, metadata: size)
    }
    switch row.outcome {
    case .skipped(let reason, let detail):
      return result(0, .skipped(RowReason(reason), detail: detail))
    case .entry(let entry):
      hasAuthorization = entry.selectingFields.contains("Authorization")
      do throws(MoveFailure) {
        mapped = mapper.mapped(entry.url).map(URLMapper.shown)
        let url = try mapper.url(of: entry.url)
        let moved = try move(entry, row.row, to: url)
        return result(entry.body.length, .converted(replaced: moved.isReplacing), moved.size)
      } catch {
        switch error {
        case .stop(let error): throw error
        case .skip(let reason, let detail):
          return result(entry.body.length, .skipped(RowReason(reason), detail: detail))
        }
      }
    }
  }

  /// Moves one entry.
  ///
  /// - Returns: Whether it replaces an older entry, and the size of its metadata.
  private func move(
    _ entry: SourceEntry, _ row: Int64, to url: NormalizedURL
  ) throws(MoveFailure) -> (isReplacing: Bool, size: MetadataSize) {
    guard let store, let cache else {
      return (false, try plan(entry, row, as: url))
    }
    let (plan, adoption) = try adopt(entry, row, as: url, cache)
    let known = store.info(for: plan.key, variant: plan.variant)
    if let known {
      try compare(entry, adoption, with: known, cache, readsBodies: !options.isDryRun)
    }
    let size = try check(entry, plan, store)
    if let room {
      if (try? room.supersedes(row, plan.key, plan.variant)) == true {
        throw .skip(.duplicateURLSuperseded, "")
      }
      guard fits(entry, size, store), room.admits(row, accessed: adoption.past.accessed)
      else { throw .skip(.limitsReached, "") }
    }
    if options.isDryRun { return (known != nil, size) }
    try store.adopt(plan, adoption.past, body(of: entry)) { () throws(MoveFailure) in
      // Another program may have stored a newer response while a long body was read.
      guard let now = store.info(for: plan.key, variant: plan.variant),
        now.created != known?.created || now.digest != known?.digest
      else { return }
      try compare(entry, adoption, with: now, cache, readsBodies: true)
    }
    return (known != nil, size)
  }

  /// Returns the size of the metadata of an entry for a store that does not exist, so that it has
  /// no secret to conceal credentials with.
  private func plan(
    _ entry: SourceEntry, _ row: Int64, as url: NormalizedURL
  ) throws(MoveFailure) -> MetadataSize {
    let adoption = Adoption(entry, row: row, source.format, url: url, now: now)
    let selection = Selection(
      varyOf: entry.storedFields, request: entry.selectingFields,
      conceal: { Array(Digest(hashing: $0).description.utf8) })
    guard let selection else { throw .skip(.varyAll, "") }
    let plan = ResponseCache.adopting(adoption.kept, selectedBy: selection, rules)
    try checkExpiry(plan.metadata.expires)
    do throws(StoreError) {
      try Store.checkBounds(plan.key, plan.metadata, of: destination)
    } catch { throw MoveFailure(error) }
    return try Self.size(of: plan, entry)
  }

  func adopt(
    _ entry: SourceEntry, _ row: Int64, as url: NormalizedURL, _ cache: ResponseCache
  ) throws(MoveFailure) -> (StoringPlan, Adoption) {
    let adoption = Adoption(entry, row: row, source.format, url: url, now: now)
    guard let plan = cache.adopting(adoption.kept) else { throw .skip(.varyAll, "") }
    try checkExpiry(plan.metadata.expires)
    return (plan, adoption)
  }

  /// Throws for an entry that the destination would refuse even if it had room.
  ///
  /// - Returns: The size of its metadata.
  func check(
    _ entry: SourceEntry, _ plan: StoringPlan, _ store: Store
  ) throws(MoveFailure) -> MetadataSize {
    do throws(StoreError) {
      try store.checkBounds(plan.key, plan.metadata, length: entry.body.length)
    } catch { throw MoveFailure(error) }
    return try Self.size(of: plan, entry)
  }

  private static func size(
    of plan: StoringPlan, _ entry: SourceEntry
  ) throws(MoveFailure) -> MetadataSize {
    let size = MetadataSize(
      plan.key, variant: plan.variant, plan.metadata, length: entry.body.length)
    guard let size else { throw .skip(.metadataTooLarge, "") }
    return size
  }

  private func checkExpiry(_ expires: Timestamp?) throws(MoveFailure) {
    if options.dropsExpired, let expires, expires <= now { throw .skip(.expired, "") }
  }

  /// Throws for an entry that the destination has already, or has in a newer version.
  ///
  /// - Parameter readsBodies: Whether the bodies are compared; otherwise equal lengths count as
  ///   equal.
  func compare(
    _ entry: SourceEntry, _ adoption: Adoption, with known: EntryInfo, _ cache: ResponseCache,
    readsBodies: Bool
  ) throws(MoveFailure) {
    // A time in the future was replaced by the time of the migration.
    let isSameTime = entry.created.map { $0 == known.created || $0 > now } ?? true
    if isSameTime, entry.body.length == known.length,
      try readsBodies ? hasSameBody(entry, known) : true
    {
      throw .skip(.alreadyThere, "")
    }
    let isMoved = known.userInfo.contains { $0.name == Adoption.formatName }
    // What the destination has got itself is newer than a response of an unknown time. Of two of
    // these, the first one stays, also when they are moved again.
    guard !adoption.isOfFuture || isMoved && !Adoption.hasMadeUpTime(known),
      EntryFields.responseTime(of: known) < adoption.kept.times.response
    else {
      throw .skip(isMoved ? .duplicateURLSuperseded : .newerInDestination, "")
    }
  }

  private func hasSameBody(_ entry: SourceEntry, _ known: EntryInfo) throws(MoveFailure) -> Bool {
    let body = try body(of: entry)
    var hasher = DigestHasher()
    while let piece = try body.next() { hasher.update(piece) }
    return hasher.digest() == known.digest
  }

  private func body(of entry: SourceEntry) throws(MoveFailure) -> MovingBody {
    do throws(SourceError) {
      return MovingBody(
        reader: try source.openBody(entry.body), isFile: entry.body.isFile, stop: stop)
    } catch { throw MoveFailure(error, isFile: entry.body.isFile) }
  }
}
