/// What can be wrong with a store. The raw value is the stable name that the tool prints and
/// Docs/Fsck.md lists.
public enum FindingKind: String, Sendable, Hashable, CaseIterable {
  // What every part of a store can have.
  /// The name is no part of the format.
  case foreignFile = "foreign-file"
  /// A link, device, fifo, socket, file or directory stands where something else belongs.
  case wrongKind = "wrong-kind"
  /// Others may read or write it, or its owner may not.
  case wrongMode = "wrong-mode"
  /// It belongs to another user.
  case wrongOwner = "wrong-owner"
  /// An entry was stored or accessed in the future: a clock was wrong.
  case timeImplausible = "time-implausible"
  /// The system cannot read it.
  case unreadable = "unreadable"
  /// A newer version of OfflineCache wrote it.
  case newerFormat = "newer-format"

  // The top of the store.
  /// There is no store.json.
  case descriptionMissing = "description-missing"
  /// store.json is not as it was written, or that of another store.
  case descriptionDamaged = "description-damaged"
  /// Nothing tells the hash seed any more, so no entry can be found.
  case seedLost = "seed-lost"
  /// A directory of the store, or its lock file, is missing.
  case partMissing = "part-missing"
  /// CACHEDIR.TAG is missing or changed, so backups take the store in.
  case tagWrong = "tag-wrong"
  /// A process was killed and left what it was writing.
  case stagingLeft = "staging-left"

  // The journal.
  /// There are entries and no journal.
  case journalMissing = "journal-missing"
  /// The last record of the journal was written in part, and never promised.
  case journalTorn = "journal-torn"
  /// The journal ends before what it had when the store was closed.
  case journalShort = "journal-short"
  /// A segment of the journal is missing.
  case segmentMissing = "segment-missing"
  /// A file of the journal is no segment of this store, or too long for one.
  case segmentDamaged = "segment-damaged"
  /// A stretch of the journal holds no record.
  case recordDamaged = "record-damaged"
  /// Records of the journal are left out.
  case recordOutOfSequence = "record-out-of-sequence"
  /// A record of the journal has the sequence number of an earlier one.
  case recordDuplicate = "record-duplicate"

  // The entries.
  /// The journal has an entry whose files are gone.
  case entryMissing = "entry-missing"
  /// Files of an entry that the journal does not know, as a crash leaves them.
  case entryUnrecorded = "entry-unrecorded"
  /// An entry that was given up is there again, whole.
  case entryReturned = "entry-returned"
  /// Files of an entry that the journal does not know, and that no crash has left.
  case entryUnexplained = "entry-unexplained"
  /// A whole entry stands where its key does not belong.
  case entryMisplaced = "entry-misplaced"
  /// An entry has no metadata file.
  case metadataMissing = "metadata-missing"
  /// A metadata file is not as it was written.
  case metadataDamaged = "metadata-damaged"
  /// A metadata file is that of another key, variant or store.
  case metadataForeign = "metadata-foreign"
  /// A metadata file says something else than the journal.
  case metadataDiffers = "metadata-differs"
  /// The body of an entry is missing.
  case bodyMissing = "body-missing"
  /// A body is shorter than it was.
  case bodyShort = "body-short"
  /// A body is longer than it was.
  case bodyLong = "body-long"
  /// A body is not what was stored.
  case bodyWrong = "body-wrong"
  /// No entry uses this body.
  case bodyOrphan = "body-orphan"
  /// Two entries should share one file and have two.
  case bodyUnshared = "body-unshared"
  /// The directory of a key has no entry.
  case directoryEmpty = "directory-empty"
  /// The journal counts other bytes for an entry than it takes, so the limits are held wrongly.
  case usageWrong = "usage-wrong"
}
