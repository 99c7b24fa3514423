internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The comparison of the index entries of a key with the contents of its directory. It is a pure
/// function of the scene, and is made without a lock, with the lock, and after a repair.
struct Examination {
  struct Context: Sendable {
    var hasIndex: Bool
    /// Whether the journal is whole, so that files without a record were never promised; otherwise
    /// the tree decides.
    var isJournalWhole: Bool
    /// Whether a process was killed, which may have left files without a record.
    var hasDeadSession: Bool
    var owner: UInt32
    /// The time of the check in nanoseconds since 1970.
    var now: Int64
  }

  private let scene: KeyScene
  private let context: Context
  private var found: [Suspicion] = []
  /// The bodies to which an entry refers, or may refer.
  private var usedBodies: Set<Digest> = []
  private var examinedBodies: Set<Digest> = []
  /// Whether a metadata file cannot be read, so that any body may be that of its entry.
  private var hasUnknownBodies = false

  /// Returns all suspicions about one key, in no particular order.
  static func examine(_ scene: KeyScene, _ context: Context) -> [Suspicion] {
    var examination = Examination(scene: scene, context: context)
    examination.examineDirectory()
    return examination.found
  }

  private mutating func examineDirectory() {
    switch scene.directory {
    case .missing:
      missEntries("its directory is missing")
    case .other(let kind):
      add(.wrongKind, nil, "\(kind.words), should be a directory")
      missEntries("no directory stands where it should be")
    case .unreadable(let error, let status):
      if let status { addPermissions(status, nil) }
      if !isModeAlone(error, status) { add(.unreadable, nil, error.description) }
    case .directory(let status):
      addPermissions(status, nil)
      examineUnreadable(in: status)
      for slot in scene.slots { examine(slot) }
      for (variant, file) in scene.metadata.sorted(by: { $0.key < $1.key }) {
        if scene.slot(variant) == nil { examineUnrecorded(variant, file) }
        addPermissions(file.status, Layout.metadata(variant))
      }
      examineOtherBodies()
      examineStrays()
    }
  }

  /// Returns whether something cannot be read only because of its mode, which is reported.
  private func isModeAlone(_ error: SystemError, _ status: FileStatus?) -> Bool {
    status.map { Permissions(owner: context.owner).explain(error, $0) } ?? false
  }

  /// Notes the files whose status cannot be read.
  private mutating func examineUnreadable(in directory: FileStatus) {
    for (name, error) in scene.unreadable {
      if case .metadata = Layout.keyFile(name) { hasUnknownBodies = true }
      if !isModeAlone(error, directory) { add(.unreadable, name, error.description) }
    }
  }

  private mutating func missEntries(_ detail: String) {
    for slot in scene.slots {
      let name = Layout.metadata(slot.variant)
      add(.entryMissing, name, detail, slot.variant)
    }
  }

  // MARK: Entries of the index

  private mutating func examine(_ slot: Slot) {
    let name = Layout.metadata(slot.variant)
    if slot.hasBodyFile { usedBodies.insert(slot.digest) }
    let limit = context.now.addingReportingOverflow(CheckLimits.aheadNanoseconds).partialValue
    if slot.accessed > limit || Int64(slot.createdSeconds) > limit / 1_000_000_000 {
      add(
        .timeImplausible, name,
        "accessed \(Timestamp(nanoseconds: slot.accessed)), which is to come", slot.variant)
    }
    if scene.lacks(slot) {
      add(.entryMissing, name, "its files are missing", slot.variant)
      return
    }
    examineMetadata(of: slot, name)
    if slot.isEmbedded { return }
    let isFirst = !examinedBodies.contains(slot.digest)
    examineBody(slot.digest, slot.length, slot.variant)
    if isFirst, let other = scene.unshared[slot.variant] {
      let body = Layout.body(slot.digest)
      add(
        .bodyUnshared, body,
        "should be one file with \(String(decoding: other, as: UTF8.self))", slot.variant)
    }
  }

  private mutating func examineMetadata(of slot: Slot, _ name: PathName) {
    guard let file = scene.metadata[slot.variant] else {
      if scene.isUnreadable(name) { return }
      add(.metadataMissing, name, "it is missing", slot.variant)
      return
    }
    guard let facts = readable(file, name, slot.variant) else {
      if case .wrongKind = file.reading {
        add(.metadataMissing, name, "another thing stands there", slot.variant)
      }
      return
    }
    guard facts.keyHash == scene.hash, facts.variant == slot.variant else {
      return addForeign(facts, slot.variant)
    }
    var differences: [String] = []
    if facts.digest != slot.digest { differences.append("body \(facts.digest)") }
    if facts.length != slot.length { differences.append("\(facts.length) bytes") }
    if facts.hasBody != slot.isEmbedded {
      differences.append(facts.hasBody ? "the body is in it" : "the body is not in it")
    }
    if facts.isPinned != slot.isPinned {
      differences.append(facts.isPinned ? "pinned" : "unpinned")
    }
    if facts.createdSeconds != slot.createdSeconds { differences.append("time stored") }
    if let names = scene.differences[slot.variant] { differences.append(names) }
    if !differences.isEmpty {
      // If the tree decides, the body in the metadata file may be the right one.
      if !context.isJournalWhole, !facts.hasBody { usedBodies.insert(facts.digest) }
      add(
        .metadataDiffers, name,
        "the journal says otherwise: " + differences.joined(separator: ", "), slot.variant,
        facts.key)
    } else if facts.isOverheadWrong {
      add(
        .usageWrong, name,
        "counted with \(slot.overhead) bytes for a file of \(facts.bytes)", slot.variant, facts.key)
    }
  }

  /// Notes a metadata file of another key or variant: a whole entry at a wrong place if its body is there.
  private mutating func addForeign(_ facts: DocumentFacts, _ variant: UInt64) {
    if scene.bodies[facts.digest]?.status.kind == .file { usedBodies.insert(facts.digest) }
    // Nobody can say now whether it is whole.
    if !facts.hasBody, scene.isUnreadable(Layout.body(facts.digest)) { return }
    let key = String(decoding: facts.key.bytes.prefix(200), as: UTF8.self)
    add(
      hasBody(facts) ? .entryMisplaced : .metadataForeign, Layout.metadata(variant),
      "it is of \(key), variant \(facts.variant)", variant, facts.key)
  }

  private func hasBody(_ facts: DocumentFacts) -> Bool {
    if facts.hasBody { return true }
    guard let status = scene.bodies[facts.digest]?.status else { return false }
    return status.kind == .file && status.length == facts.length
  }

  /// Returns the facts in a metadata file. If it cannot be read, notes a suspicion and returns
  /// `nil`.
  private mutating func readable(
    _ file: MetadataScene, _ name: PathName, _ variant: UInt64
  ) -> DocumentFacts? {
    switch file.reading {
    case .document(let facts): return facts
    case .wrongKind:
      // The metadata file may have been moved away, and may come back.
      if scene.slot(variant) == nil { hasUnknownBodies = true }
      add(.wrongKind, name, "\(file.status.kind.words), should be a file", variant)
    case .unreadable(let error):
      hasUnknownBodies = true
      if !isModeAlone(error, file.status) {
        add(.unreadable, name, error.description, variant)
      }
    case .damaged(let error):
      switch error.code {
      case .newerFormat:
        hasUnknownBodies = true
        add(.newerFormat, name, error.detail, variant)
      case .foreignStore:
        hasUnknownBodies = true
        add(.metadataForeign, name, error.detail, variant)
      default:
        // If the journal has no record of the entry, either, any body may be its own.
        if scene.slot(variant) == nil { hasUnknownBodies = true }
        add(.metadataDamaged, name, error.detail, variant)
      }
    }
    return nil
  }

  // MARK: Bodies

  private mutating func examineBody(_ digest: Digest, _ length: UInt64, _ variant: UInt64) {
    // Variants with the same body have the same suspicion.
    guard examinedBodies.insert(digest).inserted else { return }
    let name = Layout.body(digest)
    guard let body = scene.bodies[digest] else {
      if scene.isUnreadable(name) { return }
      add(.bodyMissing, name, "it is missing", variant)
      return
    }
    guard body.status.kind == .file else {
      add(.wrongKind, name, "\(body.status.kind.words), should be a file", variant)
      add(.bodyMissing, name, "another thing stands there", variant)
      return
    }
    if body.status.length != length {
      add(
        body.status.length < length ? .bodyShort : .bodyLong, name,
        "\(body.status.length) bytes, should be \(length)", variant)
    }
    switch body.reading {
    case .notRead, .right: break
    case .wrong(let found):
      add(.bodyWrong, name, "its bytes have the digest \(found)", variant)
    case .unreadable(let error):
      if !isModeAlone(error, body.status) {
        add(.unreadable, name, error.description, variant)
      }
    }
  }

  private mutating func examineOtherBodies() {
    for (digest, body) in scene.bodies.sorted(by: { $0.key.description < $1.key.description }) {
      let name = Layout.body(digest)
      if body.status.kind == .file { addPermissions(body.status, name, ofBody: true) }
      if usedBodies.contains(digest) { continue }
      if body.status.kind != .file {
        add(.wrongKind, name, "\(body.status.kind.words), should be a file")
      } else if !hasUnknownBodies, context.hasIndex || !scene.metadata.isEmpty {
        add(.bodyOrphan, name, "\(body.status.length) bytes")
      }
    }
  }

  // MARK: What the index does not know

  private mutating func examineUnrecorded(_ variant: UInt64, _ file: MetadataScene) {
    let name = Layout.metadata(variant)
    if case .damaged(let error) = file.reading, context.hasIndex, context.isJournalWhole,
      context.hasDeadSession, !error.isForeign
    {
      // The file was being written when a process was killed. The journal has no record of it.
      add(.entryUnrecorded, name, "its metadata file is not whole", variant)
      return
    }
    guard let facts = readable(file, name, variant) else { return }
    let body = facts.hasBody ? nil : scene.bodies[facts.digest]
    guard facts.keyHash == scene.hash, facts.variant == variant else {
      return addForeign(facts, variant)
    }
    if body?.status.kind == .file { usedBodies.insert(facts.digest) }
    if context.hasIndex {
      let (kind, detail) = unrecorded(variant, body, hasBody(facts))
      add(kind, name, detail, variant, facts.key)
      // A repair recovers the entry with this body. One that is missing or has another length keeps it from
      // that.
      if !context.isJournalWhole, case .wrong? = body?.reading {
        examineBody(facts.digest, facts.length, variant)
      }
    } else if !facts.hasBody {
      usedBodies.insert(facts.digest)
      examineBody(facts.digest, facts.length, variant)
    }
  }

  /// Returns the kind of files without a record, and a description.
  private func unrecorded(
    _ variant: UInt64, _ body: BodyScene?, _ isBodyThere: Bool
  ) -> (FindingKind, String) {
    let detail = isBodyThere ? "the journal does not know it" : "without its body"
    guard context.isJournalWhole else { return (.entryUnrecorded, detail) }
    var isWrong = false
    if case .wrong? = body?.reading { isWrong = true }
    switch scene.goodbyes[variant] {
    case .removed: return (.entryUnrecorded, "the journal says that it was removed")
    case .lost: return (.entryUnrecorded, "the journal ends before its record")
    case .givenUp where isBodyThere && !isWrong:
      return (.entryReturned, "it was given up when its files were gone or damaged")
    default:
      return context.hasDeadSession
        ? (.entryUnrecorded, detail) : (.entryUnexplained, "\(detail), and no process was killed")
    }
  }

  private mutating func examineStrays() {
    // Directories are searched before they are reported.
    for (name, kind) in scene.strays where kind != .directory {
      add(.foreignFile, name, kind.words)
    }
    if scene.uncountedNames > 0 {
      add(.foreignFile, nil, "\(scene.uncountedNames) more foreign names")
    }
    if scene.metadata.isEmpty, scene.bodies.isEmpty, scene.strays.isEmpty, scene.slots.isEmpty {
      add(.directoryEmpty, nil, "nothing is in it")
    }
  }

  // MARK: Notes

  private mutating func addPermissions(
    _ status: FileStatus, _ name: PathName?, ofBody: Bool = false
  ) {
    guard status.kind == .file || status.kind == .directory else { return }
    found += Permissions(owner: context.owner, ofBodies: ofBody)
      .suspicions(of: status, path: path(name), name: name)
  }

  /// Returns the path of a name in the directory; for `nil`, that of the directory.
  private func path(_ name: PathName?) -> [UInt8] { name.map { scene.path($0) } ?? scene.path }

  private mutating func add(
    _ kind: FindingKind, _ name: PathName?, _ detail: String, _ variant: UInt64? = nil,
    _ key: ByteString? = nil
  ) {
    let known = key ?? variant.flatMap { scene.key(of: $0) }
    found.append(
      Suspicion(
        kind: kind, path: path(name), name: name, variant: variant, key: known?.bytes,
        detail: detail))
  }
}

extension KeyScene {
  /// Returns the key in the metadata file of an entry; `nil` if it cannot be read.
  fileprivate func key(of variant: UInt64) -> ByteString? {
    guard case .document(let facts)? = metadata[variant]?.reading, facts.keyHash == hash
    else { return nil }
    return facts.key
  }
}
