import CacheStore
import TestSupport

enum Step: Hashable {
  case read, stream, validate, note, replace, store, storeLarge, storeEqual, pin, unpin, remove
  case visit, offline, online
  case flush, trim, limit, crash, reopen, wait, switchProcess, clockBack
}

/// A kind of use: how often what is done, and within which limits.
struct Use {
  var name: String
  var keys: Int
  /// The longest body of most entries.
  var bodyBytes: Int
  /// How often each step is taken, in parts of the sum.
  var steps: [(Step, Int)]
  var limits: Limits
  var processes = 1

  /// All kinds; the seed chooses one.
  static let all: [Use] = [
    Use(
      name: "reads", keys: 60, bodyBytes: 40_000,
      steps: [
        (.read, 900), (.stream, 60), (.store, 4), (.flush, 20), (.wait, 10), (.crash, 2),
        (.reopen, 4),
      ],
      limits: Limits(bytes: 2 << 20)),
    Use(
      name: "validations", keys: 40, bodyBytes: 60_000,
      steps: [
        (.validate, 900), (.read, 60), (.note, 20), (.store, 4), (.flush, 10), (.wait, 10),
        (.crash, 2), (.pin, 2), (.unpin, 3),
      ],
      limits: Limits(bytes: 2 << 20)),
    Use(
      name: "replacements", keys: 50, bodyBytes: 120_000,
      steps: [
        (.replace, 700), (.store, 40), (.read, 200), (.storeLarge, 10), (.storeEqual, 20),
        (.crash, 3), (.flush, 10),
      ],
      limits: Limits(bytes: 4 << 20)),
    Use(
      name: "many small", keys: 2_000, bodyBytes: 60,
      steps: [
        (.store, 500), (.read, 300), (.remove, 60), (.validate, 60), (.flush, 10), (.crash, 2),
        (.reopen, 1), (.storeEqual, 60),
      ],
      limits: Limits(entries: 700)),
    Use(
      name: "few large", keys: 12, bodyBytes: 2_000_000,
      steps: [
        (.store, 40), (.replace, 40), (.read, 300), (.validate, 300), (.storeEqual, 20),
        (.flush, 10), (.crash, 2), (.pin, 4), (.unpin, 6),
      ],
      limits: Limits(bytes: 10 << 20)),
    Use(
      name: "offline for days", keys: 80, bodyBytes: 20_000,
      steps: [
        (.read, 600), (.wait, 200), (.store, 20), (.flush, 20), (.clockBack, 5), (.reopen, 10),
        (.crash, 3),
      ],
      limits: Limits(bytes: 1 << 20, accounting: .logical)),
    Use(
      name: "tight limits", keys: 200, bodyBytes: 9_000,
      steps: [
        (.store, 400), (.read, 300), (.replace, 100), (.trim, 3), (.limit, 6), (.pin, 10),
        (.unpin, 15), (.remove, 20), (.crash, 3), (.validate, 60), (.storeLarge, 10),
      ],
      limits: Limits(bytes: 700_000, entries: 60)),
    Use(
      name: "two processes", keys: 150, bodyBytes: 20_000,
      steps: [
        (.switchProcess, 150), (.store, 150), (.read, 300), (.validate, 100), (.replace, 60),
        (.remove, 20), (.crash, 4), (.reopen, 2), (.flush, 10), (.storeEqual, 20), (.trim, 1),
      ],
      limits: Limits(bytes: 1 << 20), processes: 2),
    Use(
      name: "history", keys: 120, bodyBytes: 20_000,
      steps: [
        (.visit, 300), (.offline, 250), (.online, 150), (.switchProcess, 10), (.remove, 10),
        (.flush, 20), (.wait, 20), (.trim, 1), (.limit, 2), (.crash, 4), (.reopen, 2),
      ],
      limits: Limits(bytes: 1 << 20, entries: 70), processes: 2),
    Use(
      name: "all of it", keys: 300, bodyBytes: 30_000,
      steps: [
        (.switchProcess, 20), (.store, 150), (.read, 300), (.stream, 30), (.validate, 150),
        (.note, 30), (.replace, 80), (.storeLarge, 5), (.storeEqual, 40), (.pin, 10),
        (.unpin, 12), (.remove, 20), (.flush, 20), (.trim, 1), (.limit, 2), (.wait, 10),
        (.clockBack, 2), (.crash, 4), (.reopen, 2),
      ],
      limits: Limits(bytes: 3 << 20, entries: 150), processes: 2),
  ]

  func step(_ random: inout SplitMix64) -> Step {
    var place = Int(random.next() % UInt64(steps.reduce(0) { $0 + $1.1 }))
    for (step, weight) in steps {
      if place < weight { return step }
      place -= weight
    }
    return .read
  }
}
