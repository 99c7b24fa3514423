import CommandLineTools
import Synchronization
import Testing

@testable import StoreChecking
@testable import cachefsck

/// Keeps what is saved.
private final class Saved: Sendable {
  private let value = Mutex<(shards: Set<UInt8>, tally: Tally)?>(nil)
  var last: (shards: Set<UInt8>, tally: Tally)? { value.withLock { $0 } }
  func save(_ shards: Set<UInt8>, _ tally: Tally) { value.withLock { $0 = (shards, tally) } }
}

@Suite struct WatcherTests {
  private let saved = Saved()

  private func makeWatcher() -> Watcher {
    Watcher(
      StoreChecker(at: "/nowhere"), line: ProgressLine(total: nil, isEnabled: false), json: nil
    ) { [saved] progress, tally throws(StateFile.Problem) in saved.save(progress.shards, tally) }
  }

  private func finding(_ kind: FindingKind, _ path: String) -> Finding {
    Finding(kind, path: Array(path.utf8), detail: "")
  }

  private func progress(_ shards: Set<UInt8>) -> CheckProgress {
    CheckProgress(entries: 1, totalEntries: 9, bytes: 0, totalBytes: 0, shards: shards)
  }

  @Test func `what the rest of a check finds again is not counted in the state`() throws {
    let watcher = makeWatcher()
    watcher.found(finding(.bodyWrong, "entries/3f/a"))
    watcher.found(finding(.bodyWrong, "entries/3f/b"))
    watcher.found(finding(.bodyShort, "entries/40/c"))
    watcher.found(finding(.tagWrong, "CACHEDIR.TAG"))
    watcher.found(finding(.journalTorn, "journal/00000001.log"))
    for name in ["zz", "3F/a", "+f/a", "0f0/a"] {
      watcher.found(finding(.foreignFile, "entries/\(name)"))
    }
    watcher.found(finding(.wrongMode, "entries/3f"))
    watcher.found(finding(.unreadable, "entries/3f"))
    watcher.found(finding(.bodyMissing, "entries/3f/e"))
    watcher.progressed(progress([0x3F, 0x0F]))
    watcher.saveState()
    let last = try #require(saved.last)
    #expect(last.shards == [0x3F, 0x0F])
    #expect(
      last.tally == [
        .bodyWrong: .init(found: 2), .bodyMissing: .init(found: 1), .unreadable: .init(found: 1),
      ])
    #expect(watcher.tally.found == 12)
  }

  @Test func `nothing is saved before a shard is done`() {
    let watcher = makeWatcher()
    watcher.saveState()
    watcher.progressed(progress([]))
    watcher.saveState()
    #expect(saved.last == nil)
  }

  @Test func `at most so many findings of a kind are kept`() {
    let watcher = makeWatcher()
    for number in 0..<1000 { watcher.found(finding(.foreignFile, "entries/3f/\(number)")) }
    watcher.found(finding(.bodyWrong, "entries/3f/a"))
    #expect(watcher.shown[.foreignFile]?.count == Watcher.shownOfKind)
    #expect(watcher.shown[.bodyWrong]?.count == 1)
    #expect(watcher.tally[.foreignFile]?.found == 1000)
  }

  @Test func `a state that cannot be written is reported once and tried no more`() {
    let calls = Mutex(0)
    let watcher = Watcher(
      StoreChecker(at: "/nowhere"), line: ProgressLine(total: nil, isEnabled: false), json: nil
    ) { _, _ throws(StateFile.Problem) in
      calls.withLock { $0 += 1 }
      throw StateFile.Problem(text: "no room")
    }
    watcher.progressed(progress([1]))
    watcher.saveState()
    watcher.saveState()
    #expect(watcher.stateProblem?.text == "no room")
    #expect(calls.withLock { $0 } == 1)
  }
}
