internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The counts of foreign names in one directory. The first of each kind are findings of their own, and
/// the others together are one.
struct StrayTally {
  struct Count {
    var found = 0
    /// Those that were repaired, of those that are no findings of their own.
    var repaired = 0
    var more: Int { max(0, found - CheckLimits.strays) }
  }

  let path: [UInt8]
  var counts: [FindingKind: Count] = [:]

  func path(_ name: PathName) -> [UInt8] {
    path.isEmpty ? name.bytes : path + [UInt8(ascii: "/")] + name.bytes
  }
}

/// A check of names that do not belong to the format.
struct StrayCheck {
  let run: CheckRun
  let store: CheckedStore

  private var fileSystem: any FileSystem { store.fileSystem }

  /// Reports a name that does not belong where it is: a misplaced entry, or a foreign file.
  func checkForeign(_ name: PathName, in directory: Int32, _ tally: inout StrayTally) {
    guard let status = try? fileSystem.status(at: name, in: directory) else { return }
    run.reporter.add(files: 1)
    if status.kind == .directory,
      let inner = try? fileSystem.open(name, in: directory, [.read, .directory])
    {
      do throws(SystemError) {
        if let key = try misplaced(inner) {
          return tellMisplaced(key, name, in: directory, &tally)
        }
        try checkInside(inner, tally.path(name))
      } catch { run.reporter.tell(unreadable: tally.path(name), error) }
    }
    tell(
      Suspicion(
        kind: .foreignFile, path: tally.path(name), name: name, detail: status.kind.words),
      name, in: directory, &tally)
  }

  /// Searches a foreign directory for entries one level below it.
  private func checkInside(
    _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(SystemError) {
    var tally = StrayTally(path: path)
    for (name, kind) in try fileSystem.names(in: directory.raw, limit: CheckLimits.searched)
    where kind == .directory {
      guard let inner = try? fileSystem.open(name, in: directory, [.read, .directory])
      else { continue }
      do throws(SystemError) {
        guard let key = try misplaced(inner) else { continue }
        tellMisplaced(key, name, in: directory.raw, &tally)
      } catch { run.reporter.tell(unreadable: tally.path(name), error) }
    }
    end(tally)
  }

  private func tellMisplaced(
    _ key: ByteString, _ name: PathName, in directory: Int32, _ tally: inout StrayTally
  ) {
    let place = Layout.keyPath(KeyHash(hashing: key, seed: store.hashSeed)).text
    tell(
      Suspicion(
        kind: .entryMisplaced, path: tally.path(name), name: name, key: key.bytes,
        detail: "it belongs into entries/\(place)"),
      name, in: directory, &tally)
  }

  /// Returns the key of a whole entry in a directory (a metadata file of this store and its body);
  /// `nil` if there is none.
  private func misplaced(_ directory: borrowing Descriptor) throws(SystemError) -> ByteString? {
    for (name, _) in try fileSystem.names(in: directory.raw, limit: CheckLimits.searched) {
      guard case .metadata = Layout.keyFile(name),
        (try? fileSystem.status(at: name, in: directory.raw))?.kind == .file,
        let bytes = try? fileSystem.readFile(
          name, in: directory, limit: MetadataDocument.maximumBytes),
        let document = try? MetadataDocument(decoding: bytes, hashSeed: store.hashSeed),
        document.body != nil || hasBody(of: document.entry, directory)
      else { continue }
      return document.entry.key
    }
    return nil
  }

  private func hasBody(of entry: StoredEntry, _ directory: borrowing Descriptor) -> Bool {
    let body = try? fileSystem.status(at: Layout.body(entry.digest), in: directory.raw)
    return body?.kind == .file && body?.length == entry.length
  }

  /// Repairs and reports one name outside of the directories of keys.
  func tell(
    _ suspicion: Suspicion, _ name: PathName, in directory: Int32, _ tally: inout StrayTally
  ) {
    var result = Finding.Outcome.left
    if let mender = run.mender {
      let attempt = mender.mendStray(suspicion, name, in: directory)
      result = outcome(attempt, isLeft: isLeft(suspicion, name, in: directory))
    }
    var count = tally.counts[suspicion.kind] ?? StrayTally.Count()
    count.found += 1
    if count.more == 0 {
      run.reporter.tell(suspicion.finding(result))
    } else if result == .repaired {
      count.repaired += 1
    }
    tally.counts[suspicion.kind] = count
  }

  /// Returns whether a suspicion still holds after a repair.
  private func isLeft(_ suspicion: Suspicion, _ name: PathName, in directory: Int32) -> Bool {
    guard let status = try? fileSystem.status(at: name, in: directory) else { return false }
    switch suspicion.kind {
    case .wrongMode, .wrongOwner:
      return Permissions(owner: store.owner)
        .suspicions(of: status, path: suspicion.path, name: name)
        .contains { $0.isSame(as: suspicion) }
    case .wrongKind: return status.kind != .directory
    case .entryMisplaced:
      // What is left of the directory after a safe repair may have no whole entry.
      guard let inner = try? fileSystem.open(name, in: directory, [.read, .directory])
      else { return true }
      do throws(SystemError) { return try misplaced(inner) != nil } catch { return true }
    default: return true
    }
  }

  /// Reports the number of names that were only counted.
  func end(_ tally: StrayTally) {
    for (kind, count) in tally.counts.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where count.more > 0 {
      let words = kind == .foreignFile ? "more foreign names" : "more names like these"
      run.reporter.tell(
        Finding(
          kind, path: tally.path, detail: "\(count.more) \(words)",
          outcome: count.repaired == count.more ? .repaired : .left))
    }
  }
}
