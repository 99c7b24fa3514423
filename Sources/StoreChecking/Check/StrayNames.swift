internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A check of the directories that contain no keys, for names that do not belong there, and for
/// wrong kinds and modes.
struct StrayNames {
  private let run: CheckRun
  private let store: CheckedStore
  private let strays: StrayCheck

  private var fileSystem: any FileSystem { store.fileSystem }

  init(_ run: CheckRun, _ store: CheckedStore) {
    self.run = run
    self.store = store
    strays = StrayCheck(run: run, store: store)
  }

  /// Checks the directory of the store, `entries`, `journal` and `staging`. In `quarantine` any
  /// name is allowed.
  ///
  /// - Parameters:
  ///   - journal: the names in `journal`, as the check of the journal has found them.
  ///   - foreign: the names in `staging` that are no sessions.
  func check(
    _ root: borrowing Descriptor, journal: JournalCheck.Result, staging foreign: [PathName]
  ) {
    list(root, []) { Layout.topNames.contains($0.text) }
    checkShards()
    check(journal.foreign, of: Layout.journal, root)
    checkSegments(journal.segments, root)
    check(foreign, of: Layout.staging, root)
  }

  /// Reports the names for which `isKnown` returns false.
  private func list(
    _ directory: borrowing Descriptor, _ path: [UInt8], _ isKnown: (PathName) -> Bool
  ) {
    var tally = StrayTally(path: path)
    var count = 0
    let raw = directory.raw
    do throws(SystemError) {
      try fileSystem.list(raw) { name, _ in
        count += 1
        if !isKnown(name) { strays.checkForeign(name, in: raw, &tally) }
        return count < CheckLimits.names && !run.cancellation.isSet
      }
    } catch { run.tell(unreadable: path, error) }
    strays.end(tally)
  }

  /// Reports names of a directory that do not belong there.
  private func check(_ foreign: [PathName], of part: PathName, _ root: borrowing Descriptor) {
    if foreign.isEmpty { return }
    do throws(SystemError) {
      let directory = try fileSystem.open(part, in: root, [.read, .directory])
      var tally = StrayTally(path: part.bytes)
      for name in foreign { strays.checkForeign(name, in: directory.raw, &tally) }
      strays.end(tally)
    } catch  where error.isOfPlace {} catch { run.tell(unreadable: part.bytes, error) }
  }

  private func checkShards() {
    let entries = store.entries
    let directory = entries.directory.raw
    list(entries.directory, Layout.entries.bytes, Layout.isShard)
    for number in 0..<Layout.shardCount {
      let name = Layout.shard(number)
      guard let status = try? fileSystem.status(at: name, in: directory) else { continue }
      check(status, .directory, name, in: directory, below: Layout.entries)
    }
  }

  private func checkSegments(_ names: [PathName], _ root: borrowing Descriptor) {
    if names.isEmpty { return }
    do throws(SystemError) {
      let journal = try fileSystem.open(Layout.journal, in: root, [.read, .directory])
      for name in names {
        // The check of the journal has reported segments that are no regular files.
        guard let status = try? fileSystem.status(at: name, in: journal.raw),
          status.kind == .file
        else { continue }
        check(status, .file, name, in: journal.raw, below: Layout.journal)
      }
    } catch  where error.isOfPlace {} catch {
      run.tell(unreadable: Layout.journal.bytes, error)
    }
  }

  /// Checks a part of the store. Each has findings of its own, however many there are.
  private func check(
    _ status: FileStatus, _ kind: FileKind, _ name: PathName, in directory: Int32,
    below place: PathName
  ) {
    var tally = StrayTally(path: place.bytes)
    run.reporter.add(files: 1)
    guard status.kind == kind else {
      let words = "\(status.kind.words), should be \(kind.words)"
      strays.tell(
        Suspicion(kind: .wrongKind, path: tally.path(name), name: name, detail: words),
        name, in: directory, &tally)
      return
    }
    for suspicion in Permissions(owner: store.owner)
      .suspicions(of: status, path: tally.path(name), name: name)
    {
      strays.tell(suspicion, name, in: directory, &tally)
    }
  }
}

extension FileSystem {
  /// Returns names in a directory.
  ///
  /// - Throws: `tooLarge` if there are too many.
  func names(
    in directory: Int32, where isWanted: (PathName, FileKind) -> Bool = { _, _ in true }
  ) throws(SystemError) -> [(name: PathName, kind: FileKind)] {
    var (names, count) = ([(PathName, FileKind)](), 0)
    try list(directory) { name, kind in
      count += 1
      if isWanted(name, kind) { names.append((name, kind)) }
      return count < CheckLimits.listed
    }
    if count == CheckLimits.listed { throw .tooLarge }
    return names
  }

  /// Reads a metadata file; `nil` if there is no regular file.
  func document(
    _ name: PathName, in directory: borrowing Descriptor, hashSeed: UInt64
  ) throws(SystemError) -> Result<MetadataDocument, FormatError>? {
    let bytes: [UInt8]
    do throws(SystemError) {
      guard try status(at: name, in: directory.raw).kind == .file else { return nil }
      bytes = try readFile(name, in: directory, limit: MetadataDocument.maximumBytes)
    } catch  where error == .tooLarge {
      return .failure(FormatError(.tooLarge, error.description))
    } catch  where error == .notFound || error.isWrongKind { return nil }
    do throws(FormatError) {
      return .success(try MetadataDocument(decoding: bytes, hashSeed: hashSeed))
    } catch { return .failure(error) }
  }

  /// Lets the owner of a directory use it.
  func permitOwner(_ directory: Int32) throws(SystemError) {
    let mode = try status(of: directory).mode
    if mode & 0o700 != 0o700 {
      try changeMode(at: PathName("."), in: directory, to: mode & 0o7777 | 0o700)
    }
  }
}
