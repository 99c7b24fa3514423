internal import CacheFormat
internal import CacheSystem

extension Compactor {
  func copyLive(of number: UInt32) throws(StoreError) {
    var cursor = SlotCursor()
    var batch: [Located] = []
    var bytes = 0
    // The index and not the file is searched, so that all records to which it points are found,
    // also if the file is damaged.
    while let located = cursor.next(in: catalog) {
      for place in located where place.slot.segment == number {
        batch.append(place)
        bytes += place.slot.isUnsettled ? Int(place.slot.recordLength) : place.slot.keptBytes
        if bytes >= journal.sizes.copyBytes {
          try copy(batch)
          (batch, bytes) = ([], 0)
        }
      }
    }
    try copy(batch)
    let limits = try writer.append { state throws(StoreError) -> [[UInt8]] in
      // The record of the limits is short, so it is always copied with its segment.
      state.limitsSegment <= number && state.limits != .none ? [state.limits.record.bytes] : []
    }
    if let limits { try writer.syncJournal(limits) }
  }

  /// Appends the records of entries again, with their present access times.
  private func copy(_ batch: [Located]) throws(StoreError) {
    var records: [(Located, PutRecord, [UInt8]?)] = []
    for located in batch {
      // A record that can be read neither here nor in the tree is not copied. A look-up will find
      // the damage.
      if located.slot.isUnsettled || !located.slot.isEmbedded && mayLackFiles(located),
        let segment = located.segment,
        let (record, body) = try? catalog.readWhole(located, in: segment), let body
      {
        records.append((located, record, body))
      } else if located.slot.isUnsettled {
        upkeep.setAside(located.slot)
      } else if located.slot.isEmbedded {
        if let (record, body) = try? readEmbedded(located) {
          records.append((located, record, body))
        }
      } else if let record = (try? catalog.readRecord(located)) ?? (try? tree.record(of: located)) {
        records.append((located, record, nil))
      }
    }
    if records.isEmpty { return }
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      records.compactMap { located, record, body in
        guard let number = state.number(of: located.slot) else { return nil }
        let slot = state.index[number]
        guard let body else {
          return record.accessed(
            slot.accessed, bodyFile: UInt64(slot.bodyFile),
            overhead: UInt32(clamping: slot.overhead))
        }
        if slot.isEmbedded && !slot.isUnsettled {
          return record.settled(
            with: body, accessed: slot.accessed, overhead: UInt32(clamping: slot.overhead))
        }
        // Another process has settled it since it was read. The next attempt copies it as it is now.
        if located.slot.isUnsettled && !slot.isUnsettled { return nil }
        let head = record.head
        return record.carrying(
          body,
          at: .init(
            created: head.created, accessed: Timestamp(nanoseconds: slot.accessed),
            isPinned: head.isPinned))
      }
    }
    // The copies are synced before their segment is dropped, because the drop record may be in a
    // later segment, whose sync does not include this one.
    if let placed { try writer.syncJournal(placed) }
  }

  /// Reads the record and the body of a settled entry without a body file, from the journal or from
  /// the metadata file.
  private func readEmbedded(_ located: Located) throws(ReadFailure) -> (PutRecord, [UInt8]) {
    if let (record, body) = try? catalog.readWithEmbedded(located), let body {
      return (record, body)
    }
    return (try tree.record(of: located), try tree.readBody(located))
  }

  /// Returns whether a record carries the body of an entry that was settled before this process opened
  /// the store, and whose body file is not whole: a loss of power may have taken it.
  private func mayLackFiles(_ located: Located) -> Bool {
    located.slot.carriesBody
      && located.slot.recordPlace < reader.state.withLock { $0.journal.openedPlace }
      && (try? tree.isWholeBody(located)) != true
  }
}
