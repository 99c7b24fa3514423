package import CacheFormat
package import CacheSystem
internal import Synchronization

// Setting damaged entries aside: the entry is removed, and its remaining files are moved to the
// quarantine, with a note.
extension Recovery {
  /// The entries that may be missing for a moment only, because their volume or folder is not
  /// available. They stay in the index and are misses, until they are available again, are
  /// replaced, removed or evicted, or until a repair gives them up.
  package enum Away {
    /// None, because the tree decides.
    case none
    /// Those whose shard is missing. Neither a crash nor the store removes a shard.
    case shard
    /// Those that have no file left.
    case allFiles
  }

  /// Sets aside the entries that look-ups have found damaged.
  func setDamagedAside() {
    let slots = upkeep.state.change { state -> [Slot] in
      defer { state.damaged = [] }
      return state.damaged
    }
    let away: Away = catalog.isJournalWhole ? .allFiles : .none
    for slot in slots where !upkeep.isStopping { setAside(slot, butNot: away) }
  }

  /// Sets one entry aside, if it has not changed since it was found damaged, and is still damaged.
  package func setAside(_ slot: Slot, butNot away: Away) {
    // If the open `entries` directory was replaced, the entry may be intact in the present one.
    guard (try? catalog.confirmEntries()) == true else { return }
    let entries = catalog.state.withLock { $0.entries }
    let away = slot.isUnsettled ? .none : away
    // Checked before the lock is taken, because that would make a missing shard.
    if isAway(slot, entries, away) { return }
    let isGone = try? tree.withShard(of: slot.keyHash, in: entries) { shard throws(StoreError) in
      try setAside(slot, butNot: away, in: shard)
    }
    // Sent after the shard was unlocked.
    if isGone == true { events.send(.removed(.damaged), bytes: slot.length) }
  }

  /// - Returns: whether the entry was removed.
  private func setAside(
    _ slot: Slot, butNot away: Away, in shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    let entries = shard.entries
    guard let located = catalog.locate(slot.keyHash, slot.variant),
      located.slot.isSameRecord(as: slot), located.entries === entries, isDamaged(located),
      !isAway(slot, entries, away)
    else { return false }
    if !slot.isUnsettled, let directory = try tree.openKey(slot.keyHash, in: shard),
      try takeUpNewer(slot, in: directory, entries)
    {
      return false
    }
    guard try release(slot, entries) else { return false }
    if slot.isUnsettled {
      try? quarantineLogged(located)
    } else {
      do throws(StoreError) { try quarantine(slot, in: shard) } catch {
        // The files stay without a record.
        tree.staging.noteUnclean()
      }
    }
    return true
  }

  /// Removes the entries that only the log has, before a part of the journal that is lost. That part
  /// may have replaced or removed them, so their records are copied to the quarantine.
  ///
  /// - Throws: the first error. Written anew, the journal would trust the entries that are left.
  func releaseDoubtful(_ gaveUp: (Slot) -> Void) throws(StoreError) {
    var failure: StoreError?
    catalog.forEachUnsettled { place in
      guard catalog.state.withLock({ $0.isDoubtful(place.slot) }) else { return }
      do throws(StoreError) {
        try quarantineLogged(place)
        if try release(place.slot, place.entries) {
          events.send(.removed(.damaged), bytes: place.slot.length)
          gaveUp(place.slot)
        }
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Copies the bytes of an entry that only the log has into the quarantine.
  private func quarantineLogged(_ located: Located) throws(StoreError) {
    guard let segment = located.segment else { return }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try fileSystem.readBytes(
        segment.file, count: Int(located.slot.recordLength), at: Int64(located.slot.offset))
    } catch {
      if error.mayPass { throw .unreadable(journal.path(of: segment.number)) }
      return
    }
    var name = Layout.segment(segment.number)
    name.append("-")
    name.appendHex(UInt64(located.slot.offset), digits: 8)
    try system("\(path)/quarantine/\(name.text)") { () throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.writeNew(name, in: tree.place.quarantine, bytes)
      } catch  where error == .exists {}
    }
  }

  private func isAway(_ slot: Slot, _ entries: EntriesDirectory, _ away: Away) -> Bool {
    if away == .none { return false }
    let shard = Layout.shard(Layout.shardNumber(of: slot.keyHash))
    if (try? fileSystem.status(at: shard, in: entries.directory.raw)) == nil { return true }
    if away == .shard { return false }
    guard
      let directory = try? tree.openKey(
        slot.keyHash, at: Layout.keyPath(slot.keyHash), in: entries.directory)
    else { return true }
    return fileSystem.isMissing(Layout.body(slot.digest), in: directory.raw)
      && fileSystem.isMissing(Layout.metadata(slot.variant), in: directory.raw)
  }

  /// Removes an entry with a record of the reason `damaged`. Its files stay. The caller holds the
  /// shard.
  ///
  /// - Returns: false if the entry has changed or was removed meanwhile.
  package func release(
    _ slot: Slot, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      // One that was settled meanwhile has files, which would stay.
      guard state.entries === entries, let number = state.number(of: slot),
        state.index[number].isUnsettled == slot.isUnsettled
      else { return [] }
      return [
        RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: .damaged).bytes
      ]
    }
    return placed != nil
  }

  private func isDamaged(_ located: Located) -> Bool {
    do throws(ReadFailure) {
      // Without files, an entry may have been removed by a record that is lost.
      let mayBeRemoved =
        !located.slot.isUnsettled && !catalog.isJournalWhole && !tree.hasBody(located)
      if located.slot.carriesBody, !mayBeRemoved, let segment = located.segment {
        if try catalog.readWhole(located, in: segment).body != nil { return false }
        if located.slot.isUnsettled { return true }
        return try !tree.isWholeBody(located)
      }
      _ = try catalog.readRecord(located)
      return try !tree.isWholeBody(located)
    } catch {
      return error != .unreadable
    }
  }

  /// Moves the files of an entry that no other variant needs into a directory of their own in the
  /// quarantine, with a note. The caller holds the shard.
  package func quarantine(_ slot: Slot, in shard: borrowing Shard) throws(StoreError) {
    let others = catalog.settledSlots(of: slot.keyHash).filter { $0.variant != slot.variant }
    var files = isForeign(slot, in: shard) ? [] : [Layout.metadata(slot.variant)]
    if !others.contains(where: { $0.hasBodyFile && $0.digest == slot.digest }) {
      files.append(Layout.body(slot.digest))
    }
    let note = """
      the body was missing, or not the one that was stored.
      It came from entries/\(Layout.keyPath(slot.keyHash).text)
      The body should have \(slot.length) bytes with the XXH3-128 \(slot.digest).

      """
    try quarantine(files, of: slot.keyHash, in: shard, note: note)
    if others.isEmpty {
      try? fileSystem.removeDirectory(Layout.key(slot.keyHash), in: shard.directory.raw)
    }
  }

  /// Returns whether the metadata file in the place of an entry is that of another one, of another store,
  /// or of a newer format. This may be all that is left of that entry, with its body beside it.
  private func isForeign(_ slot: Slot, in shard: borrowing Shard) -> Bool {
    guard let directory = try? tree.openKey(slot.keyHash, in: shard) else { return false }
    do throws(ReadFailure) {
      let document = try tree.document(Layout.metadata(slot.variant), in: directory)
      return !tree.isPlaced(document, slot.keyHash, slot.variant)
    } catch { return error == .foreign }
  }

  /// Moves files of a key's directory into a directory of their own in the quarantine, with a note:
  /// the time, and then `note`. Missing files are ignored. The caller holds the shard.
  package func quarantine(
    _ names: [PathName], of hash: KeyHash, in shard: borrowing Shard, note: String
  ) throws(StoreError) {
    var name = PathName()
    name.appendHex(hash.high, digits: 16)
    name.appendHex(hash.low, digits: 16)
    name.append("-")
    name.appendHex(.random(in: .min ... .max), digits: 8)
    try system("\(path)/quarantine/\(name.text)") { () throws(SystemError) in
      let directory: Descriptor
      do throws(SystemError) {
        directory = try fileSystem.open(
          Layout.key(hash), in: shard.directory, [.read, .directory])
      } catch  where error == .notFound || error.isWrongKind { return }
      // Without any file, no directory is made. Otherwise the upkeep would make one for each entry
      // of a store whose bodies were all deleted.
      let files = names.filter { (try? fileSystem.status(at: $0, in: directory.raw)) != nil }
      if files.isEmpty { return }
      try fileSystem.makeDirectory(
        name, in: tree.place.quarantine.raw, mode: StorePlace.directoryMode)
      let target = try fileSystem.open(name, in: tree.place.quarantine, [.read, .directory])
      let text = "Set aside on \(Timestamp(nanoseconds: tree.clock.now())): \(note)"
      // If the disk is full, the files are kept without a note.
      try? fileSystem.writeNew(Layout.note, in: target, Array(text.utf8))
      for file in files {
        try fileSystem.rename(file, in: directory.raw, to: file, in: target.raw)
      }
    }
  }
}
