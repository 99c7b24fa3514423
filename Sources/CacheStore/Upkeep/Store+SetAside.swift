internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Damaged entries are taken out of the way: the entry goes, what is left of its files is kept in
// the quarantine with a note.
extension Store {
  /// Sets aside what look-ups have found damaged.
  func setDamagedAside() {
    let slots = upkeep.state.change { state -> [Slot] in
      defer { state.damaged = [] }
      return state.damaged
    }
    for slot in slots where !upkeep.isStopping { setAside(slot) }
  }

  /// Sets one entry aside, if it is still the one that was found damaged, and still damaged.
  func setAside(_ slot: Slot) {
    // What is not in a directory that was deleted may well be in the present one.
    guard (try? confirmEntries()) == true else { return }
    let entries = state.withLock { $0.entries }
    guard let shard = try? lockShard(slot.keyHash, entries) else { return }
    defer { shard.unlock() }
    guard let located = locate(slot.keyHash, slot.variant), located.slot.isSameRecord(as: slot),
      located.entries === entries, isDamaged(located)
    else { return }
    if let directory = try? fileSystem.open(
      Layout.key(slot.keyHash), in: shard.directory, [.read, .directory]),
      takeUpNewer(slot, in: directory, entries)
    {
      return
    }
    let others = slots(of: slot.keyHash).filter { $0.variant != slot.variant }
    let placed = try? append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries,
        let number = state.index.find(slot.keyHash, slot.variant),
        state.index[number].isSameRecord(as: slot)
      else { return [] }
      return [
        RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: .damaged).bytes
      ]
    }
    guard placed != nil else { return }
    eventHub.send(.removed(.damaged), bytes: slot.length)
    quarantine(slot, others, shard)
  }

  private func isDamaged(_ located: Located) -> Bool {
    do throws(ReadFailure) {
      _ = try readRecord(located)
      return try !isWholeBody(located)
    } catch {
      return error != .unreadable
    }
  }

  private func isWholeBody(_ located: Located) throws(ReadFailure) -> Bool {
    let slot = located.slot
    do throws(SystemError) {
      let file = try fileSystem.open(
        Layout.bodyPath(slot.keyHash, slot.digest), in: located.entries.directory, [.read])
      let status = try fileSystem.status(of: file.raw)
      guard status.kind == .file, status.length == slot.length else { return false }
      var hasher = DigestHasher()
      while hasher.count < slot.length {
        let piece = try fileSystem.readBytes(file, count: 1 << 20, at: Int64(hasher.count))
        if piece.isEmpty { return false }
        hasher.update(piece)
      }
      return hasher.digest() == slot.digest
    } catch {
      if error == .notFound || error.isWrongKind { return false }
      throw .unreadable
    }
  }

  /// Moves the files of an entry into a directory of their own, with a note.
  private func quarantine(_ slot: Slot, _ others: [Slot], _ shard: borrowing Shard) {
    guard
      let directory = try? fileSystem.open(
        Layout.key(slot.keyHash), in: shard.directory, [.read, .directory])
    else { return }
    var name = PathName()
    name.appendHex(slot.keyHash.high, digits: 16)
    name.appendHex(slot.keyHash.low, digits: 16)
    name.append("-")
    name.appendHex(.random(in: .min ... .max), digits: 8)
    var files = [Layout.metadata(slot.variant)]
    if !others.contains(where: { $0.digest == slot.digest }) {
      files.append(Layout.body(slot.digest))
    }
    // Where nothing is left there is nothing to keep: the upkeep would make a directory for each
    // entry of a store whose bodies were all deleted.
    files.removeAll { (try? fileSystem.status(at: $0, in: directory.raw)) == nil }
    let quarantine = place.quarantine.raw
    if !files.isEmpty,
      (try? fileSystem.makeDirectory(name, in: quarantine, mode: StorePlace.directoryMode)) != nil,
      let target = try? fileSystem.open(name, in: place.quarantine, [.read, .directory])
    {
      for file in files {
        try? fileSystem.rename(file, in: directory.raw, to: file, in: target.raw)
      }
      writeNote(slot, in: target)
    }
    if others.isEmpty {
      try? fileSystem.removeDirectory(Layout.key(slot.keyHash), in: shard.directory.raw)
    }
  }

  private func writeNote(_ slot: Slot, in directory: borrowing Descriptor) {
    let text = """
      Set aside on \(Timestamp(nanoseconds: clock.now())): the body was missing, or not the one that was stored.
      It came from entries/\(Layout.keyPath(slot.keyHash).text)
      The body should have \(slot.length) bytes with the XXH3-128 \(slot.digest).

      """
    guard
      let file = try? fileSystem.open(
        PathName("note.txt"), in: directory, [.write, .create, .exclusive])
    else { return }
    try? fileSystem.write(file, Array(text.utf8))
  }
}
