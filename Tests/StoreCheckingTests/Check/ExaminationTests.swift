import CLibrary
import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore
@testable import StoreChecking

/// A key with one entry whose files are right, to be changed.
private struct Case {
  static let seconds: UInt32 = 1_700_000_000
  static let now = Int64(seconds) * 1_000_000_000 + 500
  static let hash = KeyHash(hashing: "k", seed: 1)
  static let digest = Digest(hashing: [1, 2, 3])

  var context = Examination.Context(
    hasIndex: true, isJournalWhole: true, hasDeadSession: false, owner: 7, now: now)
  var slots = [slot()]
  var directory = DirectoryScene.directory(status(kind: .directory, mode: 0o700))
  var metadata: [UInt64: MetadataScene] = [0: document(facts())]
  var bodies: [Digest: BodyScene] = [
    digest: BodyScene(status: status(length: 3), reading: .right)
  ]
  var change: (inout KeyScene) -> Void = { _ in }

  static func status(
    length: UInt64 = 100, kind: FileKind = .file, mode: UInt16 = 0o600
  ) -> FileStatus {
    FileStatus(
      length: length, allocated: 512, fileNumber: 1, linkCount: 1, modified: 0, owner: 7,
      mode: mode, kind: kind)
  }

  static func slot() -> Slot {
    var slot = Slot()
    (slot.keyHash, slot.digest, slot.length) = (hash, digest, 3)
    (slot.accessed, slot.createdSeconds, slot.isLive) = (now, seconds, true)
    return slot
  }

  static func facts(key: ByteString = "k") -> DocumentFacts {
    DocumentFacts(
      key: key, keyHash: KeyHash(hashing: key, seed: 1), variant: 0, digest: digest, length: 3,
      isPinned: false, created: Timestamp(nanoseconds: Int64(seconds) * 1_000_000_000),
      sequence: nil, hasBody: false, isOverheadWrong: false, bytes: 100)
  }

  static func document(_ facts: DocumentFacts) -> MetadataScene {
    MetadataScene(status: status(), reading: .document(facts))
  }

  var suspicions: [Suspicion] {
    var indexed = IndexedKey()
    indexed.slots = slots
    var scene = KeyScene(hash: Self.hash, indexed)
    (scene.directory, scene.metadata, scene.bodies) = (directory, metadata, bodies)
    change(&scene)
    return Examination.examine(scene, context)
  }

  var kinds: Set<FindingKind> { Set(suspicions.map(\.kind)) }
}

@Suite struct ExaminationTests {
  @Test func `what is right is not suspicious`() {
    #expect(Case().suspicions.isEmpty)
    var embedded = Case()
    embedded.slots[0].isEmbedded = true
    var facts = Case.facts()
    facts.hasBody = true
    embedded.metadata = [0: Case.document(facts)]
    embedded.bodies = [:]
    #expect(embedded.suspicions.isEmpty)
  }

  @Test func `an entry without its directory or its files is missing`() {
    var test = Case()
    test.directory = .missing
    #expect(test.kinds == [.entryMissing])
    test.directory = .other(.link)
    #expect(test.kinds == [.entryMissing, .wrongKind])
    test.directory = .unreadable(.inputOutput, nil)
    #expect(test.kinds == [.unreadable], "it may be there")
    test = Case()
    (test.metadata, test.bodies) = ([:], [:])
    #expect(test.kinds == [.entryMissing])
    test.slots = []
    #expect(test.kinds == [.directoryEmpty])
  }

  @Test func `one file alone is missing or wrong`() {
    var test = Case()
    test.metadata = [:]
    #expect(test.kinds == [.metadataMissing])
    test = Case()
    test.bodies = [:]
    #expect(test.kinds == [.bodyMissing])
    for (length, kind) in [(2, .bodyShort), (4, .bodyLong)] as [(UInt64, FindingKind)] {
      test.bodies = [Case.digest: BodyScene(status: Case.status(length: length), reading: .notRead)]
      #expect(test.kinds == [kind])
    }
    let other = Digest(hashing: [4])
    test.bodies = [Case.digest: BodyScene(status: Case.status(length: 3), reading: .wrong(other))]
    #expect(test.kinds == [.bodyWrong])
    test.bodies = [Case.digest: BodyScene(status: Case.status(kind: .directory), reading: .notRead)]
    #expect(test.kinds == [.bodyMissing, .wrongKind])
  }

  @Test func `each difference from the journal is told`() {
    let changes: [(String, (inout DocumentFacts) -> Void)] = [
      ("4 bytes", { $0.length = 4 }), ("pinned", { $0.isPinned = true }),
      ("the body is in it", { $0.hasBody = true }),
      ("time stored", { $0.created = Timestamp(nanoseconds: 0) }),
      ("body \(Digest(hashing: [9]))", { $0.digest = Digest(hashing: [9]) }),
    ]
    for (words, change) in changes {
      var facts = Case.facts()
      change(&facts)
      var test = Case()
      test.metadata = [0: Case.document(facts)]
      let found = test.suspicions
      #expect(found.map(\.kind) == [.metadataDiffers], "\(words)")
      #expect(found.first?.detail == "the journal says otherwise: \(words)")
      #expect(found.first?.key == Array("k".utf8))
    }
    var facts = Case.facts()
    facts.isOverheadWrong = true
    var test = Case()
    test.metadata = [0: Case.document(facts)]
    #expect(test.kinds == [.usageWrong])
  }

  @Test(
    arguments: [
      (.notJSON, .metadataDamaged), (.wrongChecksum, .metadataDamaged),
      (.incomplete, .metadataDamaged), (.newerFormat, .newerFormat),
      (.foreignStore, .metadataForeign),
    ] as [(FormatError.Code, FindingKind)])
  func `a metadata file that cannot be read says why`(code: FormatError.Code, kind: FindingKind) {
    var test = Case()
    let reading = DocumentReading.damaged(FormatError(code, "d"))
    test.metadata = [0: MetadataScene(status: Case.status(), reading: reading)]
    #expect(test.kinds == [kind])
  }

  @Test func `a body that no entry has is an orphan, unless its entry cannot be read`() {
    let other = Digest(hashing: [9])
    var test = Case()
    test.bodies[other] = BodyScene(status: Case.status(), reading: .notRead)
    #expect(test.kinds == [.bodyOrphan])
    let unreadable = DocumentReading.unreadable(.inputOutput)
    test.metadata[1] = MetadataScene(status: Case.status(), reading: unreadable)
    #expect(test.kinds == [.unreadable])
    let newer = DocumentReading.damaged(FormatError(.newerFormat, "d"))
    test.metadata[1] = MetadataScene(status: Case.status(), reading: newer)
    #expect(test.kinds == [.newerFormat])
  }

  @Test func `times may be a day ahead`() {
    var test = Case()
    let day: Int64 = 86_400_000_000_000
    test.slots[0].accessed = Case.now + day
    #expect(test.kinds.isEmpty)
    test.slots[0].accessed = Case.now + day + 1
    #expect(test.kinds == [.timeImplausible])
    test = Case()
    test.slots[0].createdSeconds = Case.seconds + 86_401
    var facts = Case.facts()
    facts.created = Timestamp(nanoseconds: Int64(Case.seconds + 86_401) * 1_000_000_000)
    test.metadata = [0: Case.document(facts)]
    #expect(test.kinds == [.timeImplausible])
  }

  @Test(
    arguments: [
      (nil, false, .entryUnexplained), (nil, true, .entryUnrecorded),
      (.removed, false, .entryUnrecorded), (.lost, false, .entryUnrecorded),
      (.givenUp, false, .entryReturned),
    ] as [(Goodbye?, Bool, FindingKind)])
  func `files without a record are explained by the journal or by a crash`(
    goodbye: Goodbye?, hasDeadSession: Bool, kind: FindingKind
  ) {
    var test = Case()
    test.slots = []
    test.context.hasDeadSession = hasDeadSession
    test.change = { $0.goodbyes[0] = goodbye }
    #expect(test.kinds == [kind])
    // If the journal is not whole, the tree decides.
    test.context.isJournalWhole = false
    #expect(test.kinds == [.entryUnrecorded])
    // Without an index only the files can be compared with one another.
    test.context.hasIndex = false
    #expect(test.kinds.isEmpty)
    test.bodies = [:]
    #expect(test.kinds == [.bodyMissing])
    // A body alone may be that of an entry in the index.
    test = Case()
    (test.slots, test.metadata, test.context.hasIndex) = ([], [:], false)
    #expect(test.kinds.isEmpty)
  }

  @Test func `what cannot be read because of its mode has a wrong mode, and nothing else`() {
    for (owner, kinds) in [(7, [.wrongMode]), (8, [.wrongMode, .wrongOwner, .unreadable])]
      as [(UInt32, Set<FindingKind>)]
    {
      var test = Case()
      var status = Case.status(kind: .directory, mode: 0)
      status.owner = owner
      test.directory = .unreadable(SystemError(EACCES), status)
      #expect(test.kinds == kinds)
      test = Case()
      status = Case.status(mode: 0)
      status.owner = owner
      test.metadata[0] = MetadataScene(status: status, reading: .unreadable(SystemError(EACCES)))
      #expect(test.kinds == kinds)
    }
    var test = Case()
    let status = Case.status(kind: .directory, mode: 0o700)
    test.directory = .unreadable(SystemError(EACCES), status)
    #expect(test.kinds == [.unreadable])
  }

  @Test func `what was given up comes back only whole`() {
    var test = Case()
    test.slots = []
    test.change = { $0.goodbyes[0] = .givenUp }
    let wrong = BodyReading.wrong(Digest(hashing: [9]))
    test.bodies = [Case.digest: BodyScene(status: Case.status(length: 3), reading: wrong)]
    #expect(test.kinds == [.entryUnexplained])
    test.bodies = [Case.digest: BodyScene(status: Case.status(length: 2), reading: .notRead)]
    #expect(test.kinds == [.entryUnexplained])
  }

  @Test func `half a metadata file of a crash was never promised`() {
    var test = Case()
    test.slots = []
    let half = DocumentReading.damaged(FormatError(.incomplete, "d"))
    test.metadata = [0: MetadataScene(status: Case.status(), reading: half)]
    #expect(test.kinds == [.metadataDamaged])
    test.context.hasDeadSession = true
    #expect(test.kinds.contains(.entryUnrecorded) && !test.kinds.contains(.metadataDamaged))
    test.context.isJournalWhole = false
    #expect(test.kinds == [.metadataDamaged])
  }

  @Test func `an entry of another key is misplaced if it is whole, or else foreign`() {
    var test = Case()
    test.slots = []
    test.metadata = [0: Case.document(Case.facts(key: "other"))]
    #expect(test.kinds == [.entryMisplaced])
    #expect(test.suspicions.first?.key == Array("other".utf8))
    test.bodies = [:]
    #expect(test.kinds == [.metadataForeign])
    test = Case()
    test.metadata = [0: Case.document(Case.facts(key: "other"))]
    #expect(test.kinds == [.entryMisplaced], "in the directory of a recorded key")
  }

  @Test func `modes and foreign names are found beside all else`() throws {
    var test = Case()
    test.directory = .directory(Case.status(kind: .directory, mode: 0o755))
    test.bodies[Case.digest]?.status.mode = 0o644
    test.metadata[0]?.status.mode = 0o200
    #expect(test.suspicions.map(\.kind) == [.wrongMode, .wrongMode, .wrongMode])
    let name = try #require(PathName(bytes: Array("stray".utf8)))
    test = Case()
    test.change = {
      $0.strays = [(name, .link)]
      $0.uncountedNames = 5
    }
    let found = test.suspicions
    #expect(found.map(\.kind) == [.foreignFile, .foreignFile])
    #expect(found[0].path.suffix(6) == Array("/stray".utf8) && found[1].detail.hasPrefix("5 more"))
  }
}
