/// The facts about a kind of finding.
public struct FindingFacts: Sendable, Hashable {
  /// The severity of a kind of finding.
  public enum Severity: String, Sendable, Hashable {
    /// The remains of a killed process, or something harmless. Every entry is right.
    case note
    /// The store is not as it should be, but every entry can still be served.
    case fault
    /// An entry cannot be served, or was lost.
    case damage
  }

  /// The severity of a kind of finding.
  public var severity: Severity
  /// The meaning, as a sentence.
  public var meaning: String
  /// The action of a repair, as a sentence.
  public var remedy: String
  /// The lowest level that repairs it; `nil` if no repair can.
  public var repairedBy: RepairLevel?
  /// Whether an entry was lost that the store had promised to keep.
  public var losesData: Bool

  /// Whether something is wrong. A note that no repair can clear is reported, but does not count,
  /// because the store cannot be better.
  public var isWrong: Bool { severity != .note || repairedBy != nil }
}

extension FindingKind {
  /// Severity, meaning and remedy.
  public var facts: FindingFacts {
    switch self {
    case .foreignFile:
      .init(
        .note, "The name is no part of the format.",
        "Moved to the quarantine.", .all)
    case .wrongKind:
      .init(
        .fault,
        "Something of another kind (link, device, fifo, socket, file, directory) has this name.",
        "Moved to the quarantine, unopened.", .safe)
    case .wrongMode:
      .init(
        .fault, "Others may read or write it, or its owner may not.",
        "The mode is set; a file with a second name is replaced by a copy, a segment left.", .safe)
    case .wrongOwner:
      .init(.fault, "It belongs to another user.", "None: run `chown` as root.", nil)
    case .timeImplausible:
      .init(
        .note, "An entry was stored or accessed in the future: a clock was wrong.",
        "None: times only order the entries, and later accesses get later times.", nil)
    case .unreadable:
      .init(
        .damage, "It cannot be read, or has unknown files in lost+found.",
        "None: check the disk and the permissions. No entry that it may have is given up.", nil)
    case .newerFormat:
      .init(.fault, "A newer version of OfflineCache wrote it.", "None: use that version.", nil)
    case .descriptionMissing:
      .init(
        .fault, "There is no store.json.", "Written again from the journal or a metadata file.",
        .safe)
    case .descriptionDamaged:
      .init(
        .fault, "store.json is damaged, or that of another store.",
        "Written again from the journal or a metadata file.", .safe)
    case .seedLost:
      .init(
        .damage, "The hash seed is lost, so no entry can be found.",
        "All entries are moved to the quarantine, and a new seed is made.", .all, losesData: true)
    case .partMissing:
      .init(.fault, "A directory of the store, or its lock file, is missing.", "It is made.", .safe)
    case .tagWrong:
      .init(
        .note, "CACHEDIR.TAG is missing or changed, so backups include the store.",
        "Written again.", .safe)
    case .stagingLeft:
      .init(
        .note, "A process left this that was killed, or ended without closing the store.",
        "Removed.", .safe)
    case .journalMissing:
      .init(.fault, "There are entries and no journal.", "A new journal from the tree.", .safe)
    case .journalTorn:
      .init(.note, "The last record was written in part, and never promised.", "Cut off.", .safe)
    case .journalShort:
      .init(
        .fault, "The journal ends before the record that was its last when the store was closed.",
        "A new journal from the tree.", .safe)
    case .segmentMissing:
      .init(.fault, "A segment is missing.", "A new journal, completed from the tree.", .safe)
    case .segmentDamaged:
      .init(
        .fault, "A file of the journal is no segment of this store, or too long for one.",
        "A new journal, completed from the tree.", .safe)
    case .recordDamaged:
      .init(
        .fault, "A part of the journal has no valid record.",
        "A new journal, completed from the tree.", .safe)
    case .recordOutOfSequence:
      .init(
        .fault, "Sequence numbers are left out.", "A new journal, completed from the tree.", .safe)
    case .recordDuplicate:
      .init(
        .fault, "A record has the sequence number of an earlier one.",
        "A new journal, completed from the tree.", .safe)
    case .entryMissing:
      .init(
        .damage, "The journal has an entry without files.",
        "If the journal is whole, the files are written from a record that still has the body, or the body is linked from an entry with the same one (safe does this, too); otherwise the entry is given up.",
        .all, losesData: true)
    case .entryUnrecorded:
      .init(
        .note, "The journal has no record of an entry that has files, as after a crash.",
        "If the journal is whole, they are removed (if it has the record of their removal) or moved to the quarantine; otherwise the entry is recovered.",
        .safe)
    case .entryDoubtful:
      .init(
        .damage,
        "An entry without files stands before lost records of the journal, which may have removed it, "
          + "so it is not served.",
        "Given up; its record is copied to the quarantine.", .safe, losesData: true)
    case .entryReturned:
      .init(.note, "An entry that was given up is there again, whole.", "Recovered.", .safe)
    case .entryUnexplained:
      .init(
        .fault, "The journal has no record of an entry that has files, and no crash explains it.",
        "Moved to the quarantine.", .all)
    case .entryMisplaced:
      .init(
        .fault, "A whole entry is in the directory of another key.",
        "Moved to its place, as soon as no other entry is there; if that has the entry, to the "
          + "quarantine.", .safe)
    case .metadataMissing:
      .init(
        .fault, "An entry has no metadata file.",
        "Written again from the journal. If that is damaged, and another variant has the body, all gives the entry up.",
        .safe)
    case .metadataDamaged:
      .init(
        .fault, "A metadata file is damaged.",
        "Written again from the journal; if that has no record of the entry, moved to the quarantine.",
        .all)
    case .metadataForeign:
      .init(
        .fault, "A metadata file is that of another key, variant or store.",
        "Moved to the quarantine, with bodies that only it names; the right one is written from the journal.",
        .all)
    case .metadataDiffers:
      .init(
        .fault, "Metadata file and journal differ.",
        "Written again from the journal, or recovered if the journal is damaged.", .safe)
    case .bodyMissing:
      .init(.damage, "A body is missing.", restored, .all, losesData: true)
    case .bodyShort:
      .init(.damage, "A body is shorter than it was.", restored, .all, losesData: true)
    case .bodyLong:
      .init(
        .damage, "A body is longer than it was.",
        "Cut if its beginning is right (safe, too). \(restored)", .all, losesData: true)
    case .bodyWrong:
      .init(.damage, "A body is not what was stored.", restored, .all, losesData: true)
    case .bodyOrphan:
      .init(
        .note, "No entry uses this body.",
        "Linked to an entry that lacks it. Removed if an entry has it now, or the journal has the record of its removal; otherwise moved to the quarantine (if something beside it is foreign or unreadable, only by all).",
        .safe)
    case .bodyUnshared:
      .init(
        .note, "Two entries should share one file and have two.",
        "One is linked to the other after their bytes were compared.", .safe)
    case .directoryEmpty:
      .init(.note, "The directory of a key has no entry.", "Removed.", .safe)
    case .usageWrong:
      .init(
        .note, "The journal counts other bytes for an entry than it takes, so limits are wrong.",
        "A correct record is written.", .safe)
    }
  }
}

/// The repair of a body that is not whole.
private let restored =
  "Written from the journal if that still has it, else linked from an entry with the same body (safe does this, too); if there is none, the entry is moved to the quarantine."

extension FindingFacts {
  init(
    _ severity: Severity, _ meaning: String, _ remedy: String, _ repairedBy: RepairLevel?,
    losesData: Bool = false
  ) {
    self.severity = severity
    self.meaning = meaning
    self.remedy = remedy
    self.repairedBy = repairedBy
    self.losesData = losesData
  }
}
