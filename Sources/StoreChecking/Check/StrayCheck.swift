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

  /// Reports a name that does not belong where it is: a misplaced entry, or a foreign file. A directory
  /// that may have entries which the system cannot read now stays where it is.
  func checkForeign(_ name: PathName, in directory: Int32, _ tally: inout StrayTally) {
    let path = tally.path(name)
    do throws(SystemError) {
      let kind = try fileSystem.status(at: name, in: directory).kind
      run.reporter.add(files: 1)
      if kind == .directory, path == Array("lost+found".utf8) {
        return checkLostAndFound(name, in: directory, &tally)
      }
      var (isSearched, wasEmpty, isTooDeep) = (true, false, false)
      defer {
        // It may have entries.
        if isTooDeep, run.mender != nil, !fileSystem.isMissing(name, in: directory) {
          run.pass.hasUnplaced.set()
        }
      }
      if kind == .directory, let inner = try open(name, in: directory, &tally) {
        wasEmpty = try fileSystem.isEmpty(inner) && !Layout.isMisplaced(name)
        isSearched = try search(inner, path, &isTooDeep)
        if let key = try misplaced(inner) {
          tellMisplaced(key, name, in: directory, inner, &tally, isSearched: isSearched)
          return
        }
      }
      // Then it was not searched to its end.
      if run.cancellation.isSet { return }
      let detail = isSearched ? kind.words : "\(kind.words), not searched to its end"
      tell(
        Suspicion(kind: .foreignFile, path: path, name: name, detail: detail),
        name, in: directory, &tally, isSearched: isSearched, wasEmpty: wasEmpty)
    } catch { run.tell(unreadable: path, error) }
  }

  /// Searches the foreign directories in the directory of a key, whose shard is not locked.
  func checkDirectories(of scene: KeyScene, in shard: Int32) {
    var tally = StrayTally(path: scene.path)
    do throws(SystemError) {
      let key = try fileSystem.open(Layout.key(scene.hash), in: shard, [.read, .directory])
      let found = try fileSystem.names(in: key.raw) {
        $1 == .directory && Layout.keyFile($0) == .foreign
      }
      for (name, _) in found where !run.cancellation.isSet {
        checkForeign(name, in: key.raw, &tally)
      }
    } catch  where error == .notFound || error.isWrongKind {} catch {
      run.tell(unreadable: scene.path, error)
    }
    end(tally)
  }

  /// Searches the folder for what e2fsck(8) finds: a store may be the root of a volume. It is no part of
  /// the store, and stays.
  private func checkLostAndFound(
    _ name: PathName, in directory: Int32, _ tally: inout StrayTally
  ) {
    do throws(SystemError) {
      guard let inner = try open(name, in: directory, &tally) else { return }
      var isTooDeep = false
      if try search(inner, name.bytes, &isTooDeep), try !hasFiles(inner) { return }
      run.note(unknownInLostAndFound: "it has files that may be entries", name.bytes)
    } catch {
      // Usually only root may read it. It has more than two links if a directory is in it.
      if error.isPermission,
        let status = try? fileSystem.status(at: name, in: directory), status.linkCount <= 2
      {
        return
      }
      run.note(unknownInLostAndFound: error.description, name.bytes)
    }
  }

  /// Returns whether anything but directories is in a directory that was searched, or below it.
  private func hasFiles(_ directory: borrowing Descriptor) throws(SystemError) -> Bool {
    for (name, kind) in try fileSystem.names(in: directory.raw) {
      if kind != .directory { return true }
      if try hasFiles(fileSystem.open(name, in: directory, [.read, .directory])) { return true }
    }
    return false
  }

  /// Searches the directories below a foreign one for entries. A repair removes those that it has emptied.
  ///
  /// - Parameter isTooDeep: set if something lies too deep.
  /// - Returns: whether no entry is left there that could not be read or placed, or lies too deep and stays.
  private func search(
    _ directory: borrowing Descriptor, _ path: [UInt8], _ isTooDeep: inout Bool, depth: Int = 1
  ) throws(SystemError) -> Bool {
    var tally = StrayTally(path: path)
    var (isDone, hasEmptied) = (true, false)
    var emptyShards: [PathName] = []
    let found = try fileSystem.names(in: directory.raw, where: { $1 == .directory })
    if depth > CheckLimits.depth {
      if found.isEmpty { return true }
      isTooDeep = true
      // What lies deeper may be entries. In the end, `all` moves it to the quarantine unsearched.
      if (run.options.repair ?? run.options.forecast) == .all, run.pass.missing != .wait {
        return true
      }
      run.pass.hasUnplaced.set()
      return false
    }
    for (name, _) in found {
      if run.cancellation.isSet { return false }
      do throws(SystemError) {
        guard let inner = try open(name, in: directory.raw, &tally) else { continue }
        let wasEmpty = try fileSystem.isEmpty(inner)
        var isSearched = try search(inner, tally.path(name), &isTooDeep, depth: depth + 1)
        if let key = try misplaced(inner) {
          let outcome = tellMisplaced(
            key, name, in: directory.raw, inner, &tally, isSearched: isSearched)
          isSearched = outcome == .repaired
        } else if run.mender != nil {
          if wasEmpty {
            if Layout.isShard(name) { emptyShards.append(name) }
          } else if (try? fileSystem.removeDirectory(name, in: directory.raw)) != nil {
            hasEmptied = true
          }
        }
        if !isSearched { isDone = false }
      } catch {
        run.tell(unreadable: tally.path(name), error)
        isDone = false
      }
    }
    // They are part of the folder of a store, like the shards whose entries were placed.
    if hasEmptied {
      for name in emptyShards { try? fileSystem.removeDirectory(name, in: directory.raw) }
    }
    end(tally)
    return isDone
  }

  /// Opens a directory; `nil` if it is gone, if something else has its name now, or if a repair had to set
  /// its mode first, which is reported: without the right to enter it, it can be listed, and not searched.
  private func open(
    _ name: PathName, in directory: Int32, _ tally: inout StrayTally
  ) throws(SystemError) -> Descriptor? {
    let permissions = Permissions(owner: store.owner)
    do throws(SystemError) {
      let found = try fileSystem.open(name, in: directory, [.read, .directory])
      let status = try fileSystem.status(of: found.raw)
      if status.owner != store.owner || status.mode & 0o500 == 0o500 { return found }
    } catch  where error == .notFound || error.isWrongKind { return nil } catch {
      let status = try fileSystem.status(at: name, in: directory)
      guard permissions.explain(error, status) else { throw error }
    }
    let status = try fileSystem.status(at: name, in: directory)
    for suspicion in permissions.suspicions(of: status, path: tally.path(name), name: name) {
      tell(suspicion, name, in: directory, &tally)
    }
    if run.mender == nil {
      run.pass.hasUnplaced.set()
      return nil
    }
    return try fileSystem.open(name, in: directory, [.read, .directory])
  }

  @discardableResult
  private func tellMisplaced(
    _ key: ByteString, _ name: PathName, in directory: Int32, _ inner: borrowing Descriptor,
    _ tally: inout StrayTally, isSearched: Bool
  ) -> Finding.Outcome {
    let place = Layout.keyPath(KeyHash(hashing: key, seed: store.hashSeed)).text
    let path = tally.path(name)
    var isException = false
    if run.options.forecast == .safe, run.mender == nil, let engine = store.engine {
      let forecast = RepairForecast(store: engine)
      isException = (try? forecast.isLeft(in: inner, path, run.cancellation)) ?? false
    }
    return tell(
      Suspicion(
        kind: .entryMisplaced, path: path, name: name, key: key.bytes,
        detail: "it belongs into entries/\(place)"),
      name, in: directory, &tally, isSearched: isSearched, isException: isException)
  }

  /// Returns the key of a whole entry in a directory (a metadata file of this store and its body);
  /// `nil` if there is none, or the check is cancelled.
  private func misplaced(_ directory: borrowing Descriptor) throws(SystemError) -> ByteString? {
    var variants: [UInt64] = []
    _ = try fileSystem.names(in: directory.raw) { name, _ in
      if case .metadata(let variant) = Layout.keyFile(name) { variants.append(variant) }
      return false
    }
    var failure: SystemError?
    for variant in variants where !run.cancellation.isSet {
      do throws(SystemError) {
        let found = try fileSystem.document(
          Layout.metadata(variant), in: directory, hashSeed: store.hashSeed)
        guard let document = try? found?.get() else { continue }
        if document.body != nil { return document.entry.key }
        if try hasBody(of: document.entry, directory) { return document.entry.key }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return nil
  }

  private func hasBody(
    of entry: StoredEntry, _ directory: borrowing Descriptor
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      let body = try fileSystem.status(at: Layout.body(entry.digest), in: directory.raw)
      return body.kind == .file && body.length == entry.length
    } catch  where error == .notFound { return false }
  }

  /// Repairs and reports one name outside of the directories of keys.
  ///
  /// - Parameters:
  ///   - isSearched: whether nothing below it is left that could not be read or placed.
  ///   - wasEmpty: whether nothing was in a directory before this repair.
  ///   - isException: see ``Finding/isException``.
  @discardableResult
  func tell(
    _ suspicion: Suspicion, _ name: PathName, in directory: Int32, _ tally: inout StrayTally,
    isSearched: Bool = true, wasEmpty: Bool = false, isException: Bool = false
  ) -> Finding.Outcome {
    var result = Finding.Outcome.left
    if let mender = run.mender {
      let attempt = mender.mendStray(
        suspicion, name, in: directory, mayMove: isSearched, wasEmpty: wasEmpty)
      result = outcome(attempt, isLeft: isLeft(suspicion, name, in: directory))
      if result == .left, run.pass.missing == .wait {
        run.pass.hasSpared.set()
        return result
      }
      // It was found where it came from.
      if result == .repaired, run.pass.memory.isDetour(suspicion.path) {
        run.pass.hasPlacedDetour.set()
        return result
      }
    }
    var count = tally.counts[suspicion.kind] ?? StrayTally.Count()
    count.found += 1
    if count.more == 0 {
      var finding = suspicion.finding(result)
      finding.isException = isException
      run.reporter.tell(finding)
    } else if result == .repaired {
      count.repaired += 1
    }
    tally.counts[suspicion.kind] = count
    return result
  }

  /// Returns whether a suspicion still holds after a repair.
  private func isLeft(_ suspicion: Suspicion, _ name: PathName, in directory: Int32) -> Bool {
    let status: FileStatus
    do throws(SystemError) { status = try fileSystem.status(at: name, in: directory) } catch {
      return error != .notFound
    }
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
      do throws(SystemError) {
        return try misplaced(inner) != nil || run.cancellation.isSet
      } catch { return true }
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
