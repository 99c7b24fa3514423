import CommandLineTools
import StoreChecking

struct Advice {
  let lines: [String]

  init(_ verdict: Verdict) {
    let done = verdict.request.effectiveRepair
    var (safe, all, never, failed, unread) = (0, 0, 0, 0, 0)
    let owner = verdict.tally[.wrongOwner].map { $0.found - $0.repaired } ?? 0
    let mode = verdict.tally[.wrongMode].map { $0.found - $0.repaired } ?? 0
    for (kind, count) in verdict.tally where kind.facts.isWrong && kind != .wrongOwner {
      let left = count.found - count.repaired
      if kind == .unreadable, mode > 0 || owner > 0 {
        unread += left
      } else if done?.reaches(kind) == true {
        failed += left
      } else {
        let exceptions = verdict.exceptions[kind] ?? 0
        switch kind.facts.repairedBy {
        case .safe:
          safe += left - exceptions
          all += exceptions
        case .all:
          safe += exceptions
          all += left - exceptions
        case nil: never += left
        }
      }
    }
    var lines: [String] = []
    let lost = verdict.tally.lostEntries
    if lost > 0 {
      let (entries, them) = lost == 1 ? ("1 entry", "it") : ("\(lost) entries", "them")
      let were = verdict.request.isDryRun ? "would be" : lost == 1 ? "was" : "were"
      lines.append(
        "\(entries) \(were) lost: nothing could restore \(them). What is left of \(them) "
          + (verdict.request.isDryRun ? "would be moved to" : "is in")
          + " the folder 'quarantine' of the store.")
    }
    if owner > 0 {
      lines.append(
        "\(owner) \(owner == 1 ? "belongs" : "belong") to another user: only root can change the owner "
          + "(chown).")
    }
    let place = Self.word(verdict.argument)
    if safe > 0 {
      let isAllServed = (verdict.tally[.entryDoubtful]?.found ?? 0) == 0
      lines.append(
        "'cachefsck --repair safe \(place)' repairs \(safe), and loses nothing"
          + (isAllServed ? "." : " that is still served."))
    }
    if all > 0 {
      let too = safe > 0 ? " as well" : ""
      lines.append(
        "'cachefsck --repair all \(place)' repairs \(all)\(too): what cannot be restored goes to the "
          + "quarantine."
      )
    }
    if unread > 0 {
      lines.append("\(unread) cannot be read: check again when owners and modes are right.")
    }
    if never > 0 { lines.append("\(never) no repair can mend: see above what to do.") }
    if failed > 0 {
      let next = done == .safe ? "try --repair all, then check" : "check again, and"
      lines.append("\(failed) could not be repaired: \(next) the disk.")
    }
    if verdict.error == nil, verdict.request.depth == .quick {
      lines.append("The bodies were not read; --deep does that.")
    }
    self.lines = lines
  }

  /// Returns the path as it can be typed in a shell, or PATH if it would have to be quoted, or would be
  /// taken for an option.
  private static func word(_ argument: Argument) -> String {
    let plain = argument.bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "/._-+,:@%=".utf8.contains(byte)
      }
    }
    return plain && argument.bytes.first != UInt8(ascii: "-") ? argument.description : "PATH"
  }
}
