import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

/// Files of a store have names outside of it, as `cp -al` leaves them. What is done to the store is not
/// done to them.
@Suite struct LinkedFilesTests {
  /// What a file is.
  private struct Image: Hashable {
    var bytes: [UInt8]
    var mode: UInt16
  }

  /// All files below a folder beside the store, or of the store itself.
  private func images(_ sandbox: CheckSandbox, _ folder: String) throws -> [String: Image] {
    var images: [String: Image] = [:]
    for path in try sandbox.allFiles("../\(folder)") {
      images[path] = Image(bytes: try sandbox.bytes(path), mode: try sandbox.mode(path))
    }
    return images
  }

  /// Copies the store as `cp -al` does.
  private func copy(_ sandbox: CheckSandbox, _ below: String = ".", to target: String) throws {
    try sandbox.makeDirectory(target)
    for name in try sandbox.names(below) {
      let path = "\(below)/\(name)"
      if sandbox.kind(path) == .directory {
        try copy(sandbox, path, to: "\(target)/\(name)")
      } else {
        try sandbox.linkFile(path, to: "\(target)/\(name)")
      }
    }
  }

  private func open(_ sandbox: CheckSandbox, _ folder: String) throws -> Store {
    try Store(at: "\(sandbox.path)/\(folder)", options: Options(settling: .atOnce))
  }

  /// Changes a store in every way.
  private func use(_ sandbox: CheckSandbox, _ folder: String) throws {
    let store = try open(sandbox, folder)
    try store.put([1, 2, 3], for: "more")
    try store.put([UInt8](repeating: 5, count: 700), for: "single1")
    try store.update("single2") { $0.tags = ["changed"] }
    try store.pin("single4")
    try store.remove("single5")
    _ = store.lookUp("single6")
    try store.setLimits(Limits(entries: 9))
    store.waitUntilIdle()
    store.close()
  }

  private func run(
    _ sandbox: CheckSandbox, _ folder: String, _ repair: RepairLevel? = nil
  ) throws -> Checked {
    let listener = Listener()
    let checker = StoreChecker(
      at: "\(sandbox.path)/\(folder)", options: CheckOptions(depth: .deep, repair: repair))
    let report = try checker.run(listener)
    return Checked(report: report, findings: listener.findings, progress: [])
  }

  @Test(arguments: [("store", "copy"), ("copy", "store")])
  func `a copy of links and its original do not change each other`(
    _ used: String, _ other: String
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    try copy(sandbox, to: "../copy")
    #expect(try run(sandbox, "store").findings == [])
    let before = try images(sandbox, other)
    try use(sandbox, used)
    #expect(try images(sandbox, other) == before)
    #expect(try run(sandbox, used).findings == [])
    #expect(try run(sandbox, other).findings == [])
    try use(sandbox, other)
    #expect(try run(sandbox, used).findings == [])
    #expect(try run(sandbox, other).findings == [])
  }

  @Test(arguments: [("store", "copy"), ("copy", "store")])
  func `a repair of one takes nothing from the other`(_ used: String, _ other: String) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try copy(sandbox, to: "../copy")
    let before = try images(sandbox, other)
    // Without its entries, one has nothing left to be in its journal.
    try sandbox.removeTree("../\(used)/entries")
    try sandbox.makeDirectory("../\(used)/entries")
    try sandbox.write("../\(used)/journal/new", [1])
    #expect(try run(sandbox, used, .all).unrepaired == [])
    #expect(try images(sandbox, other) == before)
    #expect(try run(sandbox, other).findings == [])
    let store = try open(sandbox, other)
    #expect(model.kept(store) == model.all)
    store.close()
    #expect(try run(sandbox, used).findings == [])
  }

  @Test(arguments: [true, false], [true, false])
  func `a torn end of a segment with a second name is reported once`(
    hasDied: Bool, isUsedBefore: Bool
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.append("journal/00000001.log", [1, 2, 3, 4, 5, 6, 7, 8])
    if hasDied { try sandbox.makeDirectory("staging/0123456789abcdef") }
    try copy(sandbox, to: "../copy")
    let before = try images(sandbox, "copy")
    if !isUsedBefore {
      #expect(try run(sandbox, "store", .safe).unrepaired == [])
      #expect(try run(sandbox, "store").findings == [])
    }
    let store = try open(sandbox, "store")
    #expect(model.kept(store) == model.all)
    try store.put([1], for: "more")
    store.close()
    #expect(try run(sandbox, "store").findings == [])
    #expect(try images(sandbox, "copy") == before)
  }

  @Test(arguments: [false, true])
  func `a store that is copied while two have it open goes on in a new segment`(
    _ losesCopy: Bool
  ) throws {
    let sandbox = CheckSandbox()
    let (first, second) = (try open(sandbox, "store"), try open(sandbox, "store"))
    try first.put([1], for: "a")
    try second.put([2], for: "b")
    try copy(sandbox, to: "../copy")
    let before = try images(sandbox, "copy")
    try first.put([3], for: "c")
    #expect(try images(sandbox, "copy") == before)
    // With the copy gone, nothing shows any more that the old segment was left.
    if losesCopy { try sandbox.removeTree("../copy") }
    try second.put([4], for: "d")
    try first.put([5], for: "e")
    try second.remove("a")
    for store in [first, second] {
      // A reader looks now and then.
      for _ in 0..<64 { _ = store.lookUp("b") }
      #expect(store.lookUp("a").entry == nil)
      for (key, byte) in ["b": 2, "c": 3, "d": 4, "e": 5] as [String: UInt8] {
        #expect(store.lookUp(ByteString(key)).entry?.body == [byte], "\(key)")
      }
      #expect(store.statistics.journalDamages == 0)
    }
    if !losesCopy { #expect(try images(sandbox, "copy") == before) }
    first.close()
    second.close()
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `a reader of a store that is copied finds what is stored then`() throws {
    let sandbox = CheckSandbox()
    let writer = try open(sandbox, "store")
    try writer.put([1], for: "a")
    let reader = try Store(at: sandbox.root, options: Options(isReadOnly: true))
    #expect(reader.lookUp("a").entry?.body == [1])
    try copy(sandbox, to: "../copy")
    try writer.put([2], for: "b")
    for _ in 0..<64 { _ = reader.lookUp("a") }
    #expect(reader.lookUp("b").entry?.body == [2])
    try writer.put([3], for: "c")
    #expect(reader.lookUp("c").entry?.body == [3])
    reader.close()
    writer.close()
  }

  @Test func `the mode of a file with another name is not changed`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let metadata = try RepairCase.metadata(sandbox, "single2")
    let body = try RepairCase.body(sandbox, "single3")
    let segment = "journal/00000001.log"
    let paths = ["lock", "store.json", "CACHEDIR.TAG", metadata, body, segment]
    for (number, path) in paths.enumerated() {
      try sandbox.linkFile(path, to: "../outside\(number)")
      try sandbox.setMode(path, 0o644)
    }
    let before = try paths.indices.map { try sandbox.bytes("../outside\($0)") }
    let repaired = try sandbox.repair(.all)
    // That of the segment is left; the body is not asked for more than that it can be read.
    #expect(repaired.paths(.wrongMode) == paths.filter { $0 != body }.sorted())
    #expect(repaired.unrepaired.map { String(decoding: $0.path, as: UTF8.self) } == [segment])
    #expect(try sandbox.check(.deep).paths(.wrongMode) == [segment])
    for number in paths.indices {
      #expect(try sandbox.mode("../outside\(number)") == 0o644)
      #expect(try sandbox.bytes("../outside\(number)") == before[number])
    }
    for path in paths.prefix(4) { #expect(try sandbox.mode(path) == 0o600) }
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `a lock and a store.json with other names are replaced by copies at opening`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1], for: "a") }
    for name in ["lock", "store.json"] { try sandbox.linkFile(name, to: "../\(name)") }
    let before = try ["../lock", "../store.json"].map { try sandbox.bytes($0) }
    try sandbox.fill { try $0.put([2], for: "b") }
    #expect(try ["../lock", "../store.json"].map { try sandbox.bytes($0) } == before)
    #expect(try sandbox.bytes("lock") != before[0])
    #expect(try sandbox.bytes("store.json") == before[1])
    try sandbox.write("../store.json", [])
    #expect(try sandbox.check(.deep).findings == [])
  }
}

extension CheckSandbox {
  /// Gives a file another name.
  func linkFile(_ name: String, to other: String) throws {
    let result = unsafe link(inside(name), inside(other))
    try #require(result == 0, "\(name): errno \(errno)")
  }

  /// The permission bits of a file.
  func mode(_ name: String) throws -> UInt16 {
    let file = try RealFileSystem().open(userPath: inside(name), [.read])
    return try RealFileSystem().status(of: file.raw).mode
  }
}
