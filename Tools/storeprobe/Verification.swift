import CacheFormat
import CacheStore

/// What may be missing when a store is held against its promises.
enum Leniency {
  case nothing
  /// Anything may be gone; what is there is as it was promised last.
  case losses
  /// Anything may be gone, or be as it was before: after a power cut where nothing was synced.
  case age
}

extension Probe {
  /// Holds the store against what was announced and promised.
  ///
  /// The verdict counts what is lost (an entry that should be there) apart from what is wrong (bytes,
  /// metadata or entries that should not).
  func verify(acks path: String?, allowing leniency: Leniency) {
    let promises = Promises(path)
    // The new write must not make room for itself where nothing may go.
    let store = open(evicts: !promises.limits.isEmpty)
    var verdict = Verdict()
    for key in promises.allowed.keys.sorted() {
      for found in read(key, in: store, &verdict) {
        if promises.allow(found, for: key) { continue }
        if let found {
          if leniency == .age && promises.wasTried(found, for: key) { continue }
          verdict.wrong.append("\(key): found \(found)")
        } else if leniency == .nothing {
          verdict.lost.append(key)
        }
      }
    }
    if path != nil {
      for info in store.entries() where promises.allowed[info.key.description] == nil {
        if info.key != "probe" { verdict.wrong.append("\(info.key): never stored") }
      }
    }
    checkLimits(store, promises, leniency, &verdict)
    checkNewWrite(store, &verdict)
    store.waitUntilIdle()
    checkUse(store, &verdict)
    store.close()
    verdict.end("OK \(promises.allowed.count) keys")
  }

  /// The value of a key, read in both ways; two values if the comparison of tree and journal has changed
  /// the entry between them.
  private func read(
    _ key: String, in store: Store, _ verdict: inout Verdict, isAgain: Bool = false
  ) -> [String?] {
    guard let entry = PlantedBug.lookUp(key, in: store, at: path) else { return [nil] }
    let value = Value(body: entry.body, entry.info).description
    if !ProbeBody.isGenuine(entry.body, for: key) { verdict.wrong.append("\(key): foreign bytes") }
    if case .hit(let info, let reader) = store.read(ByteString(key)) {
      var body: [UInt8] = []
      do {
        while true {
          let piece = try reader.read(upTo: 30_000)
          if piece.isEmpty { break }
          body += piece
        }
        if body != entry.body || Value(info) != Value(entry.info) {
          if !isAgain {
            store.waitUntilIdle()
            return [value] + read(key, in: store, &verdict, isAgain: true)
          }
          verdict.wrong.append("\(key): two values")
        }
      } catch { verdict.lost.append("\(key): \(error)") }
    }
    return [value]
  }

  private func checkLimits(
    _ store: Store, _ promises: Promises, _ leniency: Leniency, _ verdict: inout Verdict
  ) {
    let found = ChurnLimits.word(store.limits)
    if promises.limits.isEmpty || promises.limits.contains(found) || leniency == .age { return }
    // Limits stand in the journal only.
    if leniency == .nothing || found != ChurnLimits.none {
      verdict.wrong.append("the limits are \(found)")
    }
  }

  private func checkNewWrite(_ store: Store, _ verdict: inout Verdict) {
    do {
      try store.put([1, 2, 3], for: "probe")
      if store.lookUp("probe").entry?.body != [1, 2, 3] {
        verdict.lost.append("a new write is lost")
      }
    } catch { verdict.lost.append("a new write fails: \(error)") }
  }

  /// The limits hold once the upkeep has done its work.
  private func checkUse(_ store: Store, _ verdict: inout Verdict) {
    let (limits, now) = (store.limits, store.statistics)
    let bytes = limits.accounting == .logical ? now.logicalBytes : now.allocatedBytes
    if bytes > limits.bytes ?? .max { verdict.wrong.append("\(bytes) bytes are used") }
    if now.entries > limits.entries ?? .max { verdict.wrong.append("\(now.entries) entries") }
  }
}

extension Value {
  /// The value of what was read: the digest is that of the bytes, whatever the entry says.
  fileprivate init(body: [UInt8], _ info: EntryInfo) {
    self.init(info)
    digest = Digest(hashing: body)
  }
}

/// What does not keep a promise.
private struct Verdict {
  var lost: [String] = []
  var wrong: [String] = []

  func end(_ good: String) -> Never {
    if lost.isEmpty && wrong.isEmpty { stop(0, good) }
    let some = (wrong + lost).prefix(4).joined(separator: "; ")
    stop(1, "FAIL wrong \(wrong.count), lost \(lost.count): \(some)")
  }
}
