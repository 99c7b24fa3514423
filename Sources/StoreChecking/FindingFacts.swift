/// What is known of a kind of finding, whatever the store (Docs/Fsck.md is the same table).
public struct FindingFacts: Sendable, Hashable {
  /// How bad it is.
  public enum Severity: String, Sendable, Hashable {
    /// What a process that was killed leaves behind, or something harmless; every entry is right.
    case note
    /// The store is not as it should be, but every entry can still be served.
    case fault
    /// An entry cannot be served, or was lost.
    case damage
  }

  /// How bad it is.
  public var severity: Severity
  /// What it means, in a sentence.
  public var meaning: String
  /// What repair does, in a sentence.
  public var remedy: String
  /// The lowest level that repairs it; nil where no repair can.
  public var repairedBy: RepairLevel?
  /// Whether an entry was lost that the store had promised to keep.
  public var losesData: Bool

  /// Whether something is wrong. A note that no repair clears is told, and does not count: the store is
  /// as good as it can be.
  public var isWrong: Bool { severity != .note || repairedBy != nil }
}

extension FindingKind {
  /// Severity, meaning and remedy.
  public var facts: FindingFacts {
    switch self {
    case .foreignFile:
      .init(
        .note, "The name is no part of the format.", "It is moved to the quarantine.", .all)
    case .wrongKind:
      .init(
        .fault,
        "A link, device, fifo, socket, file or directory stands where something else belongs.",
        "It is moved to the quarantine, unopened.", .safe)
    case .wrongMode:
      .init(
        .fault, "Others may read or write it, or its owner may not.",
        "The mode is set; a file that has another name outside is replaced by a copy, a segment is left.",
        .safe)
    case .wrongOwner:
      .init(.fault, "It belongs to another user.", "None: only root can change that.", nil)
    case .timeImplausible:
      .init(
        .note, "An entry was stored or accessed in the future: a clock was wrong.",
        "None, and it does not count: the time orders the entries only, and later accesses are counted on from it.",
        nil)
    case .unreadable:
      .init(
        .damage, "The system cannot read it.",
        "None: it may be readable again; check the disk and the permissions.", nil)
    case .newerFormat:
      .init(
        .fault, "A newer version of OfflineCache wrote it.",
        "None: use that version.", nil)
    case .descriptionMissing:
      .init(
        .fault, "There is no store.json.",
        "It is written again from the journal or a metadata file.", .safe)
    case .descriptionDamaged:
      .init(
        .fault, "store.json is not as it was written, or that of another store.",
        "It is written again from the journal or a metadata file.", .safe)
    case .seedLost:
      .init(
        .damage, "Nothing tells the hash seed any more, so no entry can be found.",
        "The entries are moved to the quarantine, and a new seed is made.", .all, losesData: true)
    case .partMissing:
      .init(.fault, "A directory of the store, or its lock file, is missing.", "It is made.", .safe)
    case .tagWrong:
      .init(
        .note, "CACHEDIR.TAG is missing or changed, so backups take the store in.",
        "It is written again.", .safe)
    case .stagingLeft:
      .init(
        .note, "A process was killed and left what it was writing.", "It is removed.", .safe)
    case .journalMissing:
      .init(
        .fault, "There are entries and no journal.", "The journal is written anew from the tree.",
        .safe)
    case .journalTorn:
      .init(
        .note, "The last record of the journal was written in part, and never promised.",
        "It is cut off.", .safe)
    case .journalShort:
      .init(
        .fault, "The journal ends before what it had when the store was closed.",
        "The journal is written anew from the tree.", .safe)
    case .segmentMissing:
      .init(
        .fault, "A segment of the journal is missing.",
        "The journal is written anew, with what the tree has.", .safe)
    case .segmentDamaged:
      .init(
        .fault, "A file of the journal is no segment of this store, or too long for one.",
        "The journal is written anew, with what the tree has.", .safe)
    case .recordDamaged:
      .init(
        .fault, "A stretch of the journal holds no record.",
        "The journal is written anew, with what the tree has.", .safe)
    case .recordOutOfSequence:
      .init(
        .fault, "Records of the journal are left out.",
        "The journal is written anew, with what the tree has.", .safe)
    case .recordDuplicate:
      .init(
        .fault, "A record of the journal has the sequence number of an earlier one.",
        "The journal is written anew, with what the tree has.", .safe)
    case .entryMissing:
      .init(
        .damage, "The journal has an entry whose files are gone.",
        "Where the journal is whole and another entry has the same body, it is linked from there; otherwise its record is taken back.",
        .all, losesData: true)
    case .entryUnrecorded:
      .init(
        .note, "Files of an entry that the journal does not know, as a crash leaves them.",
        "Where the journal is whole they were never promised, or were removed, and go; otherwise the entry is taken up.",
        .safe)
    case .entryReturned:
      .init(
        .note, "An entry that was given up is there again, whole.", "It is taken up again.", .safe)
    case .entryUnexplained:
      .init(
        .fault,
        "Files of an entry that the journal does not know, and that no crash has left.",
        "They are moved to the quarantine.", .all)
    case .entryMisplaced:
      .init(
        .fault, "A whole entry stands where its key does not belong.",
        "It is moved to its place where that is free, otherwise to the quarantine.", .safe)
    case .metadataMissing:
      .init(
        .fault, "An entry has no metadata file.", "It is written again from the journal.", .safe)
    case .metadataDamaged:
      .init(
        .fault, "A metadata file is not as it was written.",
        "It is written again from the journal; where that does not know the entry, it is moved to the quarantine.",
        .all)
    case .metadataForeign:
      .init(
        .fault, "A metadata file is that of another key, variant or store.",
        "It is moved to the quarantine, with bodies that nothing else names, and the right one is written from the journal.",
        .all)
    case .metadataDiffers:
      .init(
        .fault, "A metadata file says something else than the journal.",
        "It is written again from the journal, or taken up where the journal is damaged.", .safe)
    case .bodyMissing:
      .init(
        .damage, "The body of an entry is missing.",
        "It is linked from an entry with the same body where there is one; otherwise what is left of the entry is moved to the quarantine.",
        .all, losesData: true)
    case .bodyShort:
      .init(
        .damage, "A body is shorter than it was.",
        "It is linked from an entry with the same body where there is one; otherwise the entry is moved to the quarantine.",
        .all, losesData: true)
    case .bodyLong:
      .init(
        .damage, "A body is longer than it was.",
        "Its beginning is kept where that is right; otherwise as for body-wrong.", .all,
        losesData: true)
    case .bodyWrong:
      .init(
        .damage, "A body is not what was stored.",
        "It is linked from an entry with the same body where there is one; otherwise the entry is moved to the quarantine.",
        .all, losesData: true)
    case .bodyOrphan:
      .init(
        .note, "No entry uses this body.",
        "It is removed; where something beside it is foreign or unreadable, `all` moves it to the quarantine.",
        .safe)
    case .bodyUnshared:
      .init(
        .note, "Two entries should share one file and have two.",
        "One is linked to the other after their bytes were compared.", .safe)
    case .directoryEmpty:
      .init(.note, "The directory of a key has no entry.", "It is removed.", .safe)
    case .usageWrong:
      .init(
        .note,
        "The journal counts other bytes for an entry than it takes, so the limits are held wrongly.",
        "A right record is written.", .safe)
    }
  }
}

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
