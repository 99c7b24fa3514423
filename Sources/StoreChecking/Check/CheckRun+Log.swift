internal import CacheFormat
internal import CacheStore

// The entries that only the journal has.
extension CheckRun {
  /// Checks the entries in the log: whether they count, and in a deep check their bodies.
  func checkLog(_ store: CheckedStore) {
    guard let catalog = store.catalog else { return }
    var count = 0
    lazy var isException = options.forecast == .safe && mustStay(store)
    let isDeep = options.depth == .deep
    catalog.forEachLogged(isDeep: isDeep) { slot, key, body in
      count += 1
      if cancellation.isSet { return }
      // A repair reports them at its end.
      if mender == nil, catalog.isLost(slot) {
        var finding = Suspicion(doubtful: slot).finding()
        finding.isException = isException
        finding.lostEntries = options.forecast == nil || isException ? 0 : 1
        return tell(finding)
      }
      if body == .intact { return }
      var suspicion = Suspicion(
        slot, kind: .bodyWrong, key: key, "the body is not what was stored")
      if body == .unreadable {
        suspicion = Suspicion(
          slot, kind: .unreadable, key: key, "the system cannot read the record")
        return reporter.tell(suspicion.finding())
      }
      guard let mender else {
        return tell(suspicion.finding(lostEntries: options.forecast == .all ? 1 : 0))
      }
      let attempt = mender.mendLogged(slot, suspicion)
      reporter.tell(
        suspicion.finding(
          outcome(attempt, isLeft: attempt != .done), lostEntries: attempt == .done ? 1 : 0))
    }
    reporter.change { report in
      report.unsettled = count
      report.entries += count
    }
  }

  /// Returns whether a safe repair would not write the journal anew, and so leave doubtful entries.
  private func mustStay(_ store: CheckedStore) -> Bool {
    let canBegin = try? store.engine?.recovery.separateMissing(isForecast: true)
    return pass.hasFailed.isSet || canBegin != true
  }

  /// Reports the doubtful entries that a repair has not given up, because it could not write the journal
  /// anew.
  func tellDoubtful(_ store: CheckedStore, _ attempt: MendAttempt) {
    guard let catalog = store.catalog else { return }
    catalog.forEachLogged(isDeep: false) { slot, _, _ in
      guard catalog.isLost(slot) else { return }
      reporter.tell(Suspicion(doubtful: slot).finding(outcome(attempt, isLeft: true)))
    }
  }
}

extension Suspicion {
  /// Makes a suspicion about an entry in the log.
  fileprivate init(_ slot: Slot, kind: FindingKind, key: [UInt8]? = nil, _ detail: String) {
    self.init(
      kind: kind, path: Array("journal/".utf8) + Layout.segment(slot.segment).bytes,
      name: Layout.segment(slot.segment), variant: slot.variant, key: key,
      detail: "byte \(slot.offset): \(detail)")
  }

  /// Makes one about an entry in the log that lost records may have removed.
  init(doubtful slot: Slot) {
    self.init(slot, kind: .entryDoubtful, "records after it are lost")
  }
}
