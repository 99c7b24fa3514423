import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import StoreChecking
import Testing

/// Repairs of entries of which several whole versions are in different places: the newest wins.
@Suite struct MenderPlacingTests {
  /// Where the older and the newer version are.
  enum Places: CaseIterable {
    case bothElsewhere, newerFirst, newerElsewhere, newerInLaterShard, newerInLostAndFound
    case newerInOtherKey, newerBesideOtherKey

    /// The directories of the older and of the newer version; `nil` is the right place.
    func paths(_ sandbox: CheckSandbox) throws -> (older: String?, newer: String) {
      let other = try sandbox.directory(of: "other")
      switch self {
      case .bothElsewhere: return ("aa", "entries/zz")
      case .newerFirst: return ("entries/zz", "aa")
      case .newerElsewhere: return (nil, "zz")
      case .newerInLaterShard:
        try? sandbox.makeDirectory("entries/ff")
        return (nil, "entries/ff/zz")
      case .newerInLostAndFound:
        try sandbox.makeDirectory("lost+found")
        return (nil, "lost+found/#12")
      case .newerInOtherKey: return (nil, "\(other)/zz")
      case .newerBesideOtherKey: return (nil, other)
      }
    }
  }

  enum Journal: CaseIterable { case missing, cut, flipped }

  private static let older = [UInt8](repeating: 1, count: 5000)
  private static let newer = [UInt8](repeating: 2, count: 6000)
  /// A body that is a part of its metadata file.
  private static let embedded = [UInt8](repeating: 5, count: 520)

  /// Makes a store with the files of two versions of an entry.
  ///
  /// - Parameter isCut: whether the journal ends before the record of the newer version.
  private func fill(_ sandbox: CheckSandbox, _ places: Places, _ journal: Journal) throws {
    try sandbox.fill { store in
      try store.put([UInt8](repeating: 3, count: 7000), for: "other", variant: 7)
      try store.put(Self.older, for: "a")
    }
    let segment = "journal/" + (try #require(try sandbox.names("journal").first))
    let bytes = try sandbox.bytes(segment)
    let place = try sandbox.directory(of: "a")
    try sandbox.copyDirectory(place, to: "../older")
    try sandbox.fill { try $0.put(Self.newer, for: "a") }
    try sandbox.move(place, to: "../newer")
    let paths = try places.paths(sandbox)
    try sandbox.move("../older", to: paths.older ?? place)
    if places == .newerBesideOtherKey {
      for name in try sandbox.names("../newer") {
        try sandbox.move("../newer/\(name)", to: "\(paths.newer)/\(name)")
      }
      try sandbox.remove("../newer")
    } else {
      try sandbox.move("../newer", to: paths.newer)
    }
    switch journal {
    case .missing: try sandbox.remove(segment)
    case .cut: try sandbox.write(segment, bytes)
    case .flipped:
      let last = try #require(try sandbox.records(segment).last)
      try sandbox.flip(segment, at: last.lowerBound + 20)
    }
  }

  private func body(_ sandbox: CheckSandbox) throws -> [UInt8]? {
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true, createsStore: false))
    defer { store.close() }
    #expect(store.contains("other", variant: 7))
    return store.lookUp("a").entry?.body
  }

  @Test(arguments: Places.allCases, Journal.allCases)
  func `the newest version is placed, wherever it lies`(
    _ places: Places, _ journal: Journal
  ) throws {
    for level in RepairLevel.allCases {
      let sandbox = CheckSandbox()
      try fill(sandbox, places, journal)
      let repaired = try sandbox.expectRepaired(level)
      #expect(repaired.report.lostEntries == 0)
      #expect(try body(sandbox) == Self.newer, "\(level)")
    }
  }

  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func `the newest of three versions is placed, in whatever order they are found`(
    order: [Int]
  ) throws {
    for level in RepairLevel.allCases {
      let sandbox = CheckSandbox()
      try sandbox.fill { try $0.put([3], for: "other", variant: 7) }
      let place = try sandbox.directory(of: "a")
      for version in 0..<3 {
        try sandbox.fill { try $0.put([UInt8(version)], for: "a") }
        try sandbox.copyDirectory(place, to: "../\(version)")
      }
      try sandbox.removeTree(place)
      for (version, path) in zip(order, [place, "p0", "p1"]) {
        try sandbox.move("../\(version)", to: path)
      }
      try sandbox.removeTree("journal")
      try sandbox.makeDirectory("journal")
      let repaired = try sandbox.expectRepaired(level)
      #expect(repaired.report.lostEntries == 0)
      #expect(try body(sandbox) == [2], "\(level)")
    }
  }

  /// Repairs a store that has an entry in the log, and in a wrong place the files of an entry of a later
  /// copy of the store.
  ///
  /// - Parameters:
  ///   - filling: what the store has before it is copied, beside "other".
  ///   - change: what is done to "a" in the copy.
  ///   - move: moves the files of "a" from their directory in the copy, at the path that it gets.
  private func repairWithLaterCopy(
    _ level: RepairLevel, filling: (Store) throws -> Void, change: (Store) throws -> Void,
    move: (CheckSandbox, _ copied: String) throws -> Void
  ) throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 60)) { store in
      try store.put([3], for: "other", variant: 7)
      try filling(store)
    }
    let copy = sandbox.path + "/copy"
    try FileManager.default.copyItem(atPath: sandbox.root, toPath: copy)
    let later = try Store(at: copy, options: Options(settling: .atOnce))
    for number in 0..<20 { try later.put([UInt8(number)], for: "filler") }
    try change(later)
    later.close()
    let store = try Store(at: sandbox.root, options: Options(settling: .within(seconds: 3_600)))
    try store.put([4], for: "logged")
    #expect(store.statistics.unsettledEntries == 1)
    try move(sandbox, "../copy/\(try sandbox.directory(of: "a"))")
    #expect(try sandbox.repair(level).unrepaired == [])
    #expect(store.lookUp("logged").entry?.body == [4], "\(level)")
    store.close()
    #expect(try sandbox.check(.deep).findings == [])
    return sandbox
  }

  @Test(arguments: RepairLevel.allCases)
  func `an entry from a later copy of the store costs no entry of the log`(
    level: RepairLevel
  ) throws {
    let sandbox = try repairWithLaterCopy(
      level, filling: { _ in }, change: { try $0.put(Self.newer, for: "a") },
      move: { sandbox, copied in
        try sandbox.move(copied, to: "zz")
        try sandbox.copyDirectory("zz", to: "yy")
      })
    #expect(try body(sandbox) == Self.newer)
  }

  @Test(arguments: RepairLevel.allCases)
  func `a pin in a later copy of the store costs no entry of the log`(level: RepairLevel) throws {
    let sandbox = try repairWithLaterCopy(
      level, filling: { try $0.put(Self.older, for: "a") }, change: { try $0.pin("a") },
      move: { sandbox, copied in
        try sandbox.move(copied, to: "zz")
        let place = try sandbox.directory(of: "a")
        for name in try sandbox.names(place) where name.hasSuffix(".json") {
          try sandbox.remove("\(place)/\(name)")
        }
      })
    #expect(try body(sandbox) == Self.older)
  }

  /// Makes a store with an entry whose files have the body, unlike its record, which is damaged.
  ///
  /// - Parameter versions: the bodies that it was stored with, one after the other.
  /// - Returns: the directory of the entry. Each older one is copied there, with its number.
  private func makeEmbedded(_ sandbox: CheckSandbox, versions: [[UInt8]]) throws -> String {
    try sandbox.fill(settling: .within(seconds: 60)) { try $0.put([3], for: "other", variant: 7) }
    for (number, version) in versions.enumerated() {
      if number > 0 {
        try sandbox.copyDirectory(try sandbox.directory(of: "a"), to: "../\(number)")
      }
      try sandbox.fill(settling: .within(seconds: 60)) { store in
        try store.put(version, for: "a")
        try store.settle()
      }
    }
    for name in try sandbox.names("journal") {
      let found = Data(try sandbox.bytes("journal/\(name)")).firstRange(of: Data(versions.last!))
      if let found { try sandbox.flip("journal/\(name)", at: found.lowerBound + 9) }
    }
    return try sandbox.directory(of: "a")
  }

  @Test(arguments: RepairLevel.allCases)
  func `an entry whose record has a damaged body is placed with that of its file`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.move(try makeEmbedded(sandbox, versions: [Self.embedded]), to: "zz")
    _ = try sandbox.expectRepaired(level)
    #expect(try body(sandbox) == Self.embedded)
  }

  @Test(arguments: RepairLevel.allCases)
  func `a metadata file that differs keeps the body that the record has lost`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let place = try makeEmbedded(sandbox, versions: [Self.embedded])
    let file = "\(place)/0000000000000000.json"
    var document = try MetadataDocument(decoding: sandbox.bytes(file))
    document.entry.isPinned = true
    try sandbox.write(file, try document.encoded())
    #expect(try sandbox.check().kinds == [.metadataDiffers])
    _ = try sandbox.expectRepaired(level)
    #expect(try body(sandbox) == Self.embedded)
  }

  @Test(arguments: RepairLevel.allCases)
  func `the version that the journal has takes the place of an older one`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let older = [UInt8](repeating: 6, count: 520)
    let place = try makeEmbedded(sandbox, versions: [older, Self.embedded])
    try sandbox.move(place, to: "zz")
    try sandbox.move("../1", to: place)
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try body(sandbox) == Self.embedded)
  }

  @Test func `a directory that is the place of its entry by another path is left alone`() throws {
    for level in RepairLevel.allCases {
      let sandbox = CheckSandbox()
      try sandbox.fill { store in
        try store.put(Self.older, for: "a")
        try store.put([3], for: "other", variant: 7)
      }
      try sandbox.copyDirectory(try sandbox.directory(of: "a"), to: "zz")
      let files = FaultyFiles()
      files.faults.fileNumber = 7
      let repaired = try sandbox.repair(level, fileSystem: files)
      #expect(repaired.unrepaired.map(\.kind).contains(.entryMisplaced), "\(level)")
      #expect(try sandbox.names("zz").count == 2)
      #expect(try body(sandbox) == Self.older)
    }
  }

  @Test func `newer metadata of the same body is placed, too`() throws {
    for level in RepairLevel.allCases {
      let sandbox = CheckSandbox()
      try sandbox.fill { try $0.put(Self.older, for: "a") }
      let place = try sandbox.directory(of: "a")
      try sandbox.copyDirectory(place, to: "../older")
      try sandbox.fill { try $0.pin("a") }
      try sandbox.move(place, to: "zz")
      try sandbox.move("../older", to: place)
      try sandbox.removeTree("journal")
      try sandbox.makeDirectory("journal")
      _ = try sandbox.expectRepaired(level)
      try sandbox.fill { #expect($0.info(for: "a")?.isPinned == true, "\(level)") }
    }
  }

  @Test(arguments: [Places.bothElsewhere, .newerInLaterShard], [false, true])
  func `the newest version wins after a kill, too`(_ places: Places, _ isUsed: Bool) throws {
    for place in 0..<1000 {
      let sandbox = CheckSandbox()
      try fill(sandbox, places, .missing)
      let (files, calls) = (FaultyFiles(), CallCounter())
      // As after a kill, nothing more is changed.
      files.faults.set { $0.isChange && calls.next() >= place ? .inputOutput : nil }
      _ = try? sandbox.repair(.safe, fileSystem: files)
      if isUsed { try sandbox.fill { _ = $0.lookUp("other", variant: 7) } }
      let repaired = try sandbox.repair(.safe)
      #expect(repaired.report.lostEntries == 0, "\(place)")
      #expect(try body(sandbox) == Self.newer, "\(place)")
      if calls.value <= place { return }
    }
    Issue.record("there are more calls")
  }

  @Test func `an older version does not replace one that a journal began anew has`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for number in 0..<20 { try store.put([UInt8(number)], for: "filler") }
      try store.put(Self.older, for: "a")
      try store.put([4], for: "b")
    }
    try sandbox.move(try sandbox.directory(of: "a"), to: "zz")
    for key in ["b", "filler"] as [ByteString] {
      try sandbox.removeTree(try sandbox.directory(of: key))
    }
    try sandbox.removeTree("journal")
    try sandbox.write("lock", [])
    try sandbox.fill { store in
      // Its number is lower than that of the older version.
      try store.put(Self.newer, for: "a")
      try store.put([3], for: "other", variant: 7)
    }
    for level in RepairLevel.allCases { _ = try sandbox.repair(level) }
    #expect(try body(sandbox) == Self.newer)
    #expect(try sandbox.check(.deep).findings == [])
  }

  /// What stands in the place of an entry, and must not be overwritten.
  @Test(arguments: ["another store", "a newer version"])
  func `a metadata file of others is not overwritten by a copy`(_ others: String) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let metadata = try RepairCase.metadata(sandbox, "single5")
    try sandbox.copyDirectory(try sandbox.directory(of: "single5"), to: "zz")
    try sandbox.remove(try RepairCase.body(sandbox, "single5"))
    if others == "another store" {
      let other = CheckSandbox()
      try other.fill { try $0.put([1], for: "single5") }
      try sandbox.write(metadata, try other.bytes(try other.metadata()))
    } else {
      try RepairCase.edit(sandbox, metadata) {
        $0.replacing("\"format\": 1,", with: "\"format\": 3,")
      }
    }
    let strange = try sandbox.bytes(metadata)
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.unrepaired.map(\.kind).contains(.entryMisplaced))
    #expect(try sandbox.bytes(metadata) == strange)
    #expect(try sandbox.names("zz").count == 2)
    if others == "a newer version" { return }
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.kept(model) == model.all)
  }
}
