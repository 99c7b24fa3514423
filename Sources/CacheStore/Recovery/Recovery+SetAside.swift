package import CacheFormat
package import CacheSystem
internal import Synchronization

// Damaged entries are set aside: the entry is removed, and what is left of its files is moved to the
// quarantine, with a note.
extension Recovery {
  /// Which entries may be away for a moment only, with the volume or the folder that they are in. They
  /// stay in the index and are misses, until they are back, stored again, removed or evicted, or until
  /// a repair is asked to give them up.
  enum Away {
    /// None: the tree decides.
    case none
    /// Those whose shard is missing: no crash takes that away, nor does the store.
    case shard
    /// Those of which no file is there.
    case allFiles
  }

  /// Sets aside what look-ups have found damaged.
  func setDamagedAside() {
    let slots = upkeep.state.change { state -> [Slot] in
      defer { state.damaged = [] }
      return state.damaged
    }
    let away: Away = catalog.isJournalWhole ? .allFiles : .none
    for slot in slots where !upkeep.isStopping { setAside(slot, butNot: away) }
  }

  /// Sets one entry aside, if it is still the one that was found damaged, and still damaged.
  func setAside(_ slot: Slot, butNot away: Away) {
    // What is not in a directory that was deleted may well be in the present one.
    guard (try? catalog.confirmEntries()) == true else { return }
    let entries = catalog.state.withLock { $0.entries }
    // Asked before the lock is taken, which would make a shard that is away.
    if isAway(slot, entries, away) { return }
    let isGone = try? tree.withShard(of: slot.keyHash, in: entries) { shard throws(StoreError) in
      try setAside(slot, butNot: away, in: shard)
    }
    // Sent when the shard is free again.
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
    if let directory = try? fileSystem.open(
      Layout.key(slot.keyHash), in: shard.directory, [.read, .directory]),
      (try? takeUpNewer(slot, in: directory, entries)) == true
    {
      return false
    }
    guard try release(slot, entries) else { return false }
    try? quarantine(slot, in: shard)
    return true
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
    return [Layout.body(slot.digest), Layout.metadata(slot.variant)].allSatisfy { name in
      do throws(SystemError) {
        _ = try fileSystem.status(at: name, in: directory.raw)
        return false
      } catch { return error == .notFound }
    }
  }

  /// Says in the journal that an entry is gone because it was damaged. The caller holds the shard.
  ///
  /// - Returns: false where the index has another one by now, or none.
  package func release(
    _ slot: Slot, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    let placed = try catalog.append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries,
        let number = state.index.find(slot.keyHash, slot.variant),
        state.index[number].isSameRecord(as: slot)
      else { return [] }
      return [
        RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: .damaged).bytes
      ]
    }
    return placed != nil
  }

  private func isDamaged(_ located: Located) -> Bool {
    do throws(ReadFailure) {
      _ = try catalog.readRecord(located)
      return try !tree.isWholeBody(located)
    } catch {
      return error != .unreadable
    }
  }

  /// Moves the files of an entry, as far as other variants do not need them, into a directory of
  /// their own, with a note. The caller holds the shard.
  package func quarantine(_ slot: Slot, in shard: borrowing Shard) throws(StoreError) {
    let others = catalog.slots(of: slot.keyHash).filter { $0.variant != slot.variant }
    var files = [Layout.metadata(slot.variant)]
    if !others.contains(where: { $0.digest == slot.digest }) {
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

  /// Moves files of a key's directory into a directory of their own, with a note that says when, and
  /// then goes on with `note`. What is not there is left out. The caller holds the shard.
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
      // Where nothing is left there is nothing to keep: the upkeep would make a directory for each
      // entry of a store whose bodies were all deleted.
      let files = names.filter { (try? fileSystem.status(at: $0, in: directory.raw)) != nil }
      if files.isEmpty { return }
      try fileSystem.makeDirectory(
        name, in: tree.place.quarantine.raw, mode: StorePlace.directoryMode)
      let target = try fileSystem.open(name, in: tree.place.quarantine, [.read, .directory])
      let text = "Set aside on \(Timestamp(nanoseconds: tree.clock.now())): \(note)"
      // On a full disk it is better to keep the files without a note than not to keep them.
      try? fileSystem.writeNew(Layout.note, in: target, Array(text.utf8))
      for file in files {
        try fileSystem.rename(file, in: directory.raw, to: file, in: target.raw)
      }
    }
  }
}
