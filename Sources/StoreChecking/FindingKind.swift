/// What can be wrong with a store. The raw value is the stable name that the tool prints and
/// Docs/Fsck.md lists.
public enum FindingKind: String, Sendable, Hashable, CaseIterable {
  // What every part of a store can have.
  case foreignFile = "foreign-file"
  case wrongKind = "wrong-kind"
  case wrongMode = "wrong-mode"
  case wrongOwner = "wrong-owner"
  case timeImplausible = "time-implausible"
  case unreadable = "unreadable"
  case newerFormat = "newer-format"

  // The top of the store.
  case descriptionMissing = "description-missing"
  case descriptionDamaged = "description-damaged"
  case seedLost = "seed-lost"
  case partMissing = "part-missing"
  case tagWrong = "tag-wrong"
  case stagingLeft = "staging-left"

  // The journal.
  case journalMissing = "journal-missing"
  case journalTorn = "journal-torn"
  case journalShort = "journal-short"
  case segmentMissing = "segment-missing"
  case segmentDamaged = "segment-damaged"
  case recordDamaged = "record-damaged"
  case recordOutOfSequence = "record-out-of-sequence"
  case recordDuplicate = "record-duplicate"

  // The entries.
  case entryMissing = "entry-missing"
  case entryUnrecorded = "entry-unrecorded"
  case entryReturned = "entry-returned"
  case entryUnexplained = "entry-unexplained"
  case entryMisplaced = "entry-misplaced"
  case metadataMissing = "metadata-missing"
  case metadataDamaged = "metadata-damaged"
  case metadataForeign = "metadata-foreign"
  case metadataDiffers = "metadata-differs"
  case bodyMissing = "body-missing"
  case bodyShort = "body-short"
  case bodyLong = "body-long"
  case bodyWrong = "body-wrong"
  case bodyOrphan = "body-orphan"
  case bodyUnshared = "body-unshared"
  case directoryEmpty = "directory-empty"
  case usageWrong = "usage-wrong"
}
