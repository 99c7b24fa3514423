import CacheFormat
import CacheStore
import CacheSystem
import Testing

@testable import StoreChecking

/// One damage and what its repair has to do.
struct RepairCase: Sendable, CustomStringConvertible {
  let description: String
  /// The kinds that are to be found.
  let kinds: Set<FindingKind>
  /// The kinds that may be found with it, as the order of the shards has it.
  var also: Set<FindingKind> = []
  /// The lowest level that repairs it.
  var level = RepairLevel.safe
  /// The keys whose entries are lost by it.
  var lost: Set<ByteString> = []
  /// How much has to be read to see it.
  var depth = CheckDepth.quick
  let damage: @Sendable (CheckSandbox) throws -> Void

  static let all: [RepairCase] = entries + bodies + place + journal + strays

  static func body(_ sandbox: CheckSandbox, _ key: ByteString) throws -> String {
    let directory = try sandbox.directory(of: key)
    let name = try #require(try sandbox.names(directory).first { $0.hasSuffix(".body") })
    return "\(directory)/\(name)"
  }

  static func metadata(_ sandbox: CheckSandbox, _ key: ByteString) throws -> String {
    "\(try sandbox.directory(of: key))/0000000000000000.json"
  }

  static let entries = [
    RepairCase(description: "a missing metadata file", kinds: [.metadataMissing]) {
      try $0.remove(try metadata($0, "single2"))
    },
    RepairCase(description: "a changed metadata file", kinds: [.metadataDamaged], level: .all) {
      try $0.flip(try metadata($0, "single2"), at: 120)
    },
    RepairCase(description: "an empty metadata file", kinds: [.metadataDamaged], level: .all) {
      try $0.write(try metadata($0, "single2"), [])
    },
    RepairCase(
      description: "a metadata file of another key", kinds: [.metadataForeign], level: .all
    ) {
      try $0.copy(try metadata($0, "single1"), to: try metadata($0, "single2"))
    },
    RepairCase(description: "files of an entry that was removed", kinds: [.entryUnrecorded]) {
      sandbox in
      let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
      try store.put([9], for: "gone")
      let directory = try sandbox.directory(of: "gone")
      let kept = try sandbox.names(directory).map { name in
        ("\(directory)/\(name)", try sandbox.bytes("\(directory)/\(name)"))
      }
      try store.remove("gone")
      store.close()
      try sandbox.makeDirectory(directory)
      for (name, bytes) in kept { try sandbox.write(name, bytes) }
    },
    RepairCase(
      description: "a missing directory of a key", kinds: [.entryMissing], level: .all,
      lost: ["single2"]
    ) {
      try $0.removeTree(try $0.directory(of: "single2"))
    },
    RepairCase(
      description: "a missing directory of a shared body", kinds: [.entryMissing]
    ) {
      try $0.removeTree(try $0.directory(of: "shared1"))
    },
    RepairCase(
      description: "files that neither the journal nor a crash explains",
      kinds: [.entryUnexplained], level: .all
    ) { sandbox in
      // Those of a store that went on without them.
      let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
      let directory = try sandbox.directory(of: "new")
      let journal = try sandbox.names("journal").map { ($0, try sandbox.bytes("journal/\($0)")) }
      try store.put([9], for: "new")
      let kept = try sandbox.names(directory).map { name in
        ("\(directory)/\(name)", try sandbox.bytes("\(directory)/\(name)"))
      }
      try store.remove("new")
      store.close()
      for (name, bytes) in journal { try sandbox.write("journal/\(name)", bytes) }
      try sandbox.write("lock", [])
      // With the first number after the end, they would prove that their record is lost.
      let later = try Store(at: sandbox.root, options: Options(settling: .atOnce))
      try later.put([1], for: "later")
      try later.remove("later")
      later.close()
      try sandbox.makeDirectory(directory)
      for (name, bytes) in kept { try sandbox.write(name, bytes) }
    },
    RepairCase(description: "an empty directory", kinds: [.directoryEmpty]) {
      try $0.makeDirectory(try $0.directory(of: "removed"))
    },
    RepairCase(
      description: "a directory of a key under another name",
      kinds: [.entryMisplaced], also: [.entryMissing]
    ) {
      let directory = try $0.directory(of: "single3")
      try $0.move(
        directory, to: String(directory.dropLast(2)) + (directory.hasSuffix("00") ? "11" : "00"))
    },
    RepairCase(
      description: "a directory of a key with a longer name",
      kinds: [.entryMisplaced], also: [.entryMissing]
    ) {
      let directory = try $0.directory(of: "single3")
      try $0.move(directory, to: directory + "x")
    },
    RepairCase(description: "a mode that is too open", kinds: [.wrongMode]) {
      try $0.setMode(try body($0, "single2"), 0o666)
      try $0.setMode(try $0.directory(of: "single3"), 0o755)
    },
    RepairCase(description: "a fifo for a metadata file", kinds: [.wrongKind, .metadataMissing]) {
      let path = try metadata($0, "single2")
      try $0.remove(path)
      try $0.plantFifo(path)
    },
    RepairCase(
      description: "a link for the directory of a key", kinds: [.wrongKind, .entryMissing],
      level: .all, lost: ["single2"]
    ) {
      let directory = try $0.directory(of: "single2")
      try $0.removeTree(directory)
      try $0.plantLink(directory, to: "/tmp")
    },
  ]

  static let bodies = [
    RepairCase(
      description: "a missing body", kinds: [.bodyMissing], level: .all, lost: ["single2"]
    ) { try $0.remove(try body($0, "single2")) },
    RepairCase(description: "a missing shared body", kinds: [.bodyMissing]) {
      try $0.remove(try body($0, "shared0"))
    },
    RepairCase(description: "a short body", kinds: [.bodyShort], level: .all, lost: ["single2"]) {
      try $0.cut(try body($0, "single2"), by: 1)
    },
    RepairCase(
      description: "a file of its own, cut, for a shared body", kinds: [.bodyShort],
      also: [.bodyUnshared]
    ) {
      let path = try body($0, "shared2")
      let bytes = try $0.bytes(path)
      try $0.remove(path)
      try $0.write(path, Array(bytes.dropLast()))
    },
    RepairCase(description: "a body that has grown", kinds: [.bodyLong]) {
      try $0.append(try body($0, "single2"), [1, 2, 3])
    },
    RepairCase(
      description: "a shared body that has grown", kinds: [.bodyLong], also: [.bodyUnshared]
    ) {
      try $0.append(try body($0, "shared2"), [1, 2, 3])
    },
    RepairCase(
      description: "a changed body", kinds: [.bodyWrong], level: .all, lost: ["single2"],
      depth: .deep
    ) { try $0.flip(try body($0, "single2"), at: 7) },
    RepairCase(
      description: "a changed body of two variants", kinds: [.bodyWrong], level: .all,
      lost: ["variants"], depth: .deep
    ) { sandbox in
      let directory = try sandbox.directory(of: "variants")
      for name in try sandbox.names(directory) where name.hasSuffix(".body") {
        try sandbox.flip("\(directory)/\(name)", at: 7)
      }
    },
    RepairCase(description: "a body of no entry", kinds: [.bodyOrphan]) {
      let directory = try $0.directory(of: "single2")
      try $0.write("\(directory)/0123456789abcdef0123456789abcdef.body", [1, 2, 3])
    },
    RepairCase(description: "a body that is not shared any more", kinds: [.bodyUnshared]) {
      let path = try body($0, "shared1")
      let bytes = try $0.bytes(path)
      try $0.remove(path)
      try $0.write(path, bytes)
    },
    RepairCase(
      description: "a wrong body in a file of its own", kinds: [.bodyWrong], also: [.bodyUnshared],
      depth: .deep
    ) {
      let path = try body($0, "shared1")
      let bytes = try $0.bytes(path)
      try $0.remove(path)
      try $0.write(path, bytes.dropLast() + [bytes[bytes.count - 1] ^ 1])
    },
  ]

  static let place = [
    RepairCase(description: "a missing store.json", kinds: [.descriptionMissing]) {
      try $0.remove("store.json")
    },
    RepairCase(description: "a damaged store.json", kinds: [.descriptionDamaged]) {
      try $0.flip("store.json", at: 30)
    },
    RepairCase(
      description: "a directory for store.json", kinds: [.wrongKind, .descriptionMissing]
    ) {
      try $0.remove("store.json")
      try $0.makeDirectory("store.json")
      try $0.write("store.json/x", [1])
    },
    RepairCase(description: "no CACHEDIR.TAG", kinds: [.tagWrong]) {
      try $0.remove("CACHEDIR.TAG")
    },
    RepairCase(description: "a changed CACHEDIR.TAG", kinds: [.tagWrong]) {
      try $0.flip("CACHEDIR.TAG", at: 3)
    },
    RepairCase(description: "missing parts", kinds: [.partMissing]) {
      try $0.remove("lock")
      try $0.remove("quarantine")
    },
    RepairCase(description: "a file for the quarantine", kinds: [.wrongKind, .partMissing]) {
      try $0.remove("quarantine")
      try $0.write("quarantine", [1])
    },
    RepairCase(description: "what a killed process left", kinds: [.stagingLeft]) {
      try $0.makeDirectory("staging/0123456789abcdef")
      try $0.write("staging/0123456789abcdef/1", [1])
      try $0.write("journal/new", [1])
      try $0.write("store.json.new", [1])
    },
    RepairCase(
      description: "an empty directory for the entries", kinds: [.entryMissing], level: .all,
      lost: [
        "single0", "single1", "single2", "single3", "single4", "single5", "single6", "single7",
        "shared0", "shared1", "shared2", "variants", "replaced",
      ]
    ) {
      try $0.removeTree("entries")
      try $0.makeDirectory("entries")
    },
  ]

  static let journal = [
    RepairCase(description: "no journal", kinds: [.journalMissing]) {
      try $0.removeTree("journal")
      try $0.makeDirectory("journal")
    },
    RepairCase(
      description: "a journal without its directory", kinds: [.partMissing, .journalMissing]
    ) { try $0.removeTree("journal") },
    RepairCase(description: "a damaged record", kinds: [.recordDamaged], also: [.entryUnrecorded]) {
      try $0.flip("journal/00000001.log", at: 2000)
    },
    RepairCase(description: "a damaged header", kinds: [.segmentDamaged], also: [.entryUnrecorded])
    {
      try $0.flip("journal/00000001.log", at: 20)
    },
    RepairCase(description: "an empty segment", kinds: [.segmentDamaged], also: [.entryUnrecorded])
    {
      try $0.write("journal/00000001.log", [])
    },
    RepairCase(
      description: "a segment that is none", kinds: [.segmentDamaged], also: [.segmentMissing]
    ) {
      try $0.write("journal/00000003.log", [1, 2, 3])
    },
  ]

  static let strays = [
    RepairCase(description: "foreign files everywhere", kinds: [.foreignFile], level: .all) {
      let key = try $0.directory(of: "single2")
      for place in [".", "entries", String(key.prefix(10)), key, "journal", "staging"] {
        try $0.write("\(place)/stray", [1])
        try $0.write("\(place)/note.txt", [1])
        try $0.write("\(place)/" + String(repeating: "n", count: 255), [1])
      }
    },
    RepairCase(description: "logs with dates as names", kinds: [.foreignFile], level: .all) {
      try $0.write("journal/20240101.log", [1])
      try $0.write("journal/20240102.log", [1])
    },
    RepairCase(description: "links that lead out", kinds: [.foreignFile], level: .all) {
      try $0.plantLink("entries/out", to: "/etc/passwd")
      try $0.plantLink("\(try $0.directory(of: "single2"))/out", to: "/")
    },
    RepairCase(description: "a file for a shard", kinds: [.wrongKind]) { sandbox in
      let used = try sandbox.names("entries")
      let free = try #require((0..<256).map { hex($0) }.first { !used.contains($0) })
      try sandbox.write("entries/\(free)", [1])
    },
  ]
}

private func hex(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return digits.count < 2 ? "0" + digits : digits
}
