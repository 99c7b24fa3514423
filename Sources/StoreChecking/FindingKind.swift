/// The kinds of findings. The raw value is the stable name that the tool prints.
public enum FindingKind: String, Sendable, Hashable, CaseIterable {
  // Findings in any part of a store.
  /// The name does not belong to the format.
  case foreignFile = "foreign-file"
  /// A link, device, fifo, socket, file or directory has the name of something else.
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

  // Findings in the directory of the store.
  /// There is no store.json.
  case descriptionMissing = "description-missing"
  /// store.json is damaged, or that of another store.
  case descriptionDamaged = "description-damaged"
  /// The hash seed is lost, so no entry can be found.
  case seedLost = "seed-lost"
  /// A directory of the store, or its lock file, is missing.
  case partMissing = "part-missing"
  /// CACHEDIR.TAG is missing or changed, so backups take the store in.
  case tagWrong = "tag-wrong"
  /// A process was killed and left incomplete files.
  case stagingLeft = "staging-left"

  // Findings in the journal.
  /// There are entries and no journal.
  case journalMissing = "journal-missing"
  /// The last record of the journal was written in part, and never promised.
  case journalTorn = "journal-torn"
  /// The journal is shorter than it was when the store was closed.
  case journalShort = "journal-short"
  /// A segment of the journal is missing.
  case segmentMissing = "segment-missing"
  /// A file of the journal is no segment of this store, or too long for one.
  case segmentDamaged = "segment-damaged"
  /// A part of the journal contains no record.
  case recordDamaged = "record-damaged"
  /// Records of the journal are missing.
  case recordOutOfSequence = "record-out-of-sequence"
  /// A record of the journal has the sequence number of an earlier one.
  case recordDuplicate = "record-duplicate"

  // Findings in the entries.
  /// The journal has an entry whose files are gone.
  case entryMissing = "entry-missing"
  /// An entry has files but no record, as a crash may leave it.
  case entryUnrecorded = "entry-unrecorded"
  /// An entry without files stands before lost records of the journal.
  case entryDoubtful = "entry-doubtful"
  /// An entry that was given up has intact files again.
  case entryReturned = "entry-returned"
  /// An entry has files but no record, and no crash has left them.
  case entryUnexplained = "entry-unexplained"
  /// A whole entry is in a directory that is not that of its key.
  case entryMisplaced = "entry-misplaced"
  /// An entry has no metadata file.
  case metadataMissing = "metadata-missing"
  /// A metadata file is damaged.
  case metadataDamaged = "metadata-damaged"
  /// A metadata file is that of another key, variant or store.
  case metadataForeign = "metadata-foreign"
  /// A metadata file differs from the journal.
  case metadataDiffers = "metadata-differs"
  /// The body of an entry is missing.
  case bodyMissing = "body-missing"
  /// A body is shorter than it was.
  case bodyShort = "body-short"
  /// A body is longer than it was.
  case bodyLong = "body-long"
  /// A body has other bytes than were stored.
  case bodyWrong = "body-wrong"
  /// No entry uses this body.
  case bodyOrphan = "body-orphan"
  /// Two entries should share one file and have two.
  case bodyUnshared = "body-unshared"
  /// The directory of a key has no entry.
  case directoryEmpty = "directory-empty"
  /// The size of an entry in the journal is wrong, so the limits are not kept exactly.
  case usageWrong = "usage-wrong"
}
