import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import TestSupport
import Testing

/// A way in which disks, people and other programs damage files.
enum RandomDamage: String, CaseIterable {
  case bitFlip, byteSet, truncate, empty, zeroFill, zeroAll, garbage, append, insert
  case repeatBlock, delete, duplicate, duplicateElsewhere, rename, renameDirectory, swap
  case swapSameKind, linkAnother, copyInPlace, firstHalf, linkOut, linkToItself, linkToNothing
  case linkToDevice, linkMoved, linkForDirectory, fifo, socket, directoryForFile
  case fullDirectoryForFile, fileForDirectory, removeDirectory, noMode, openMode
  case noDirectoryMode, openDirectoryMode, oldTime, laterTime, sparse, longName, badName, deep
  case many, moveDirectoryAway, upperCase, emptyDirectory, dropNewest, newSession
  case moveBody, exchangeKeys, forgetKey, lastRecordAndKey, lastRecordAndMetadata
  case misplaceNewer, nestDirectory, foreignMetadata

  /// Whether it alone loses nothing.
  var keepsAll: Bool { self == .misplaceNewer || self == .nestDirectory }

  /// Damages a store.
  ///
  /// - Returns: what was damaged; nil where this damage does not apply.
  func apply(_ sandbox: CheckSandbox, _ random: inout SplitMix64) throws -> String? {
    let files = try sandbox.allFiles().filter {
      !$0.hasPrefix("quarantine") && Self.isRegular("\(sandbox.root)/\($0)")
    }
    let directories = try sandbox.directories()
    guard let file = files.randomElement(using: &random),
      let directory = directories.randomElement(using: &random)
    else { return nil }
    let bytes = try sandbox.bytes(file)
    switch self {
    case .moveBody, .exchangeKeys, .forgetKey, .lastRecordAndKey, .lastRecordAndMetadata:
      return try damageKey(sandbox, &random)
    case .linkForDirectory, .fileForDirectory, .removeDirectory, .noDirectoryMode,
      .openDirectoryMode, .renameDirectory, .moveDirectoryAway, .longName, .badName, .deep, .many,
      .emptyDirectory, .newSession:
      return try apply(to: directory, sandbox, &random) ? directory : nil
    case .misplaceNewer, .nestDirectory, .foreignMetadata:
      return try displace(sandbox, &random)
    case .duplicate, .duplicateElsewhere, .rename, .swap, .swapSameKind, .linkAnother, .upperCase:
      return try shuffle(file, files, directory, sandbox, &random) ? file : nil
    case .bitFlip, .byteSet, .truncate, .zeroFill, .zeroAll, .garbage, .insert, .repeatBlock,
      .firstHalf:
      guard !bytes.isEmpty else { return nil }
      let changed = change(bytes, &random)
      guard changed != bytes else { return nil }
      try sandbox.write(file, changed)
    default: try replace(file, bytes, sandbox, &random)
    }
    return file
  }

  /// Whether a file can be read: an earlier damage may have left a fifo or a socket.
  private static func isRegular(_ path: String) -> Bool {
    var found = stat()
    // Safety: the call fills the value.
    return unsafe lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
  }

  private func change(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    let place = Int.random(in: 0..<bytes.count, using: &random)
    let count = Int.random(in: 1...512, using: &random)
    let end = min(bytes.count, place + count)
    switch self {
    case .bitFlip: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case .byteSet: bytes[place] &+= UInt8.random(in: 1...255, using: &random)
    case .truncate: bytes = Array(bytes[..<place])
    case .zeroFill: bytes.replaceSubrange(place..<end, with: repeatElement(0, count: end - place))
    case .zeroAll: bytes = Array(repeating: 0, count: bytes.count)
    case .garbage: bytes = random.bytes(bytes.count)
    case .insert: bytes.insert(contentsOf: random.bytes(count), at: place)
    case .repeatBlock: bytes.insert(contentsOf: bytes[place..<end], at: place)
    default: bytes = Array(bytes[..<(bytes.count / 2)])
    }
    return bytes
  }

  private func replace(
    _ file: String, _ bytes: [UInt8], _ sandbox: CheckSandbox, _ random: inout SplitMix64
  ) throws {
    switch self {
    case .empty: try sandbox.write(file, [])
    case .append: try sandbox.append(file, random.bytes(Int.random(in: 1...600, using: &random)))
    case .copyInPlace:
      try sandbox.remove(file)
      try sandbox.write(file, bytes)
    case .noMode: try sandbox.setMode(file, 0)
    case .openMode: try sandbox.setMode(file, 0o666)
    case .oldTime: try sandbox.setTime(file, 0)
    case .laterTime: try sandbox.setTime(file, 4_000_000_000)
    case .sparse: try sandbox.stretch(file, to: 1 << 40)
    case .dropNewest:
      if file.hasPrefix("journal") { try sandbox.cut(file, by: min(bytes.count, 40)) }
    case .delete: try sandbox.remove(file)
    case .linkMoved:
      try sandbox.move(file, to: "../moved")
      try sandbox.plantLink(file, to: sandbox.path + "/moved")
    default:
      try sandbox.remove(file)
      switch self {
      case .linkOut: try sandbox.plantLink(file, to: sandbox.path + "/canary")
      case .linkToItself: try sandbox.plantLink(file, to: String(file.split(separator: "/").last!))
      case .linkToNothing: try sandbox.plantLink(file, to: "/nonexistent/x")
      case .linkToDevice: try sandbox.plantLink(file, to: "/dev/zero")
      case .fifo: try sandbox.plantFifo(file)
      case .socket: try sandbox.plantSocket(file)
      case .directoryForFile: try sandbox.makeDirectory(file)
      default:
        try sandbox.makeDirectory(file)
        try sandbox.write(file + "/x", [1])
      }
    }
  }

  private func shuffle(
    _ file: String, _ files: [String], _ directory: String, _ sandbox: CheckSandbox,
    _ random: inout SplitMix64
  ) throws -> Bool {
    let parent = file.contains("/") ? file[...file.lastIndex(of: "/")!] : ""
    let name = file.dropFirst(parent.count)
    let kind = name.split(separator: ".").last
    switch self {
    case .duplicate:
      try sandbox.copy(file, to: file + [".copy", "~", " 2", "0"].randomElement(using: &random)!)
    case .duplicateElsewhere:
      guard !files.contains("\(directory)/\(name)") else { return false }
      try sandbox.copy(file, to: "\(directory)/\(name)")
    case .rename:
      try sandbox.move(file, to: parent + Digest(hashing: random.bytes(8)).description)
    case .upperCase:
      guard name.uppercased() != name else { return false }
      try sandbox.move(file, to: parent + name.uppercased())
    default:
      let others = files.filter {
        $0 != file && (self != .swapSameKind || $0.split(separator: ".").last == kind)
      }
      guard let other = others.randomElement(using: &random) else { return false }
      let (mine, theirs) = (try sandbox.bytes(file), try sandbox.bytes(other))
      guard mine != theirs else { return false }
      if self == .linkAnother {
        try sandbox.remove(other)
        try sandbox.hardLink(file, to: other)
      } else {
        try sandbox.move(file, to: "../swap")
        try sandbox.move(other, to: file)
        try sandbox.move("../swap", to: other)
      }
    }
    return true
  }

  private func apply(
    to directory: String, _ sandbox: CheckSandbox, _ random: inout SplitMix64
  ) throws -> Bool {
    switch self {
    case .noDirectoryMode: try sandbox.setMode(directory, 0)
    case .openDirectoryMode: try sandbox.setMode(directory, 0o777)
    case .renameDirectory: try sandbox.move(directory, to: directory + "x")
    case .moveDirectoryAway: try sandbox.move(directory, to: "../away")
    case .longName: try sandbox.write("\(directory)/" + String(repeating: "n", count: 255), [])
    case .badName:
      let names: [[UInt8]] = [[0xff, 0xfe], Array("a\nb".utf8), Array("-rf".utf8), [0x20], [1]]
      try sandbox.plantFile(directory, names.randomElement(using: &random)!)
    case .deep:
      var path = directory
      for _ in 0..<30 {
        path += "/dddddddddddddddddddd"
        try sandbox.makeDirectory(path)
      }
    case .many: for number in 0..<300 { try sandbox.write("\(directory)/j\(number)", []) }
    case .emptyDirectory: try sandbox.makeDirectory("\(directory)/empty")
    case .newSession: try sandbox.makeDirectory("staging/00000000000000\(hexDigits(&random))")
    default:
      try sandbox.removeTree(directory)
      if self == .linkForDirectory { try sandbox.plantLink(directory, to: sandbox.path) }
      if self == .fileForDirectory { try sandbox.write(directory, [1]) }
    }
    return true
  }

  /// Damages what belongs to keys, in a way that makes the rest hard to explain.
  private func damageKey(
    _ sandbox: CheckSandbox, _ random: inout SplitMix64
  ) throws -> String? {
    let keys = try sandbox.directories("entries").filter { $0.split(separator: "/").count == 3 }
    guard let key = keys.randomElement(using: &random),
      let other = keys.randomElement(using: &random)
    else { return nil }
    let names = try sandbox.names(key)
    switch self {
    case .moveBody:
      guard let body = names.first(where: { $0.hasSuffix(".body") }),
        try !sandbox.names(other).contains(body)
      else { return nil }
      try sandbox.move("\(key)/\(body)", to: "\(other)/\(body)")
    case .exchangeKeys:
      guard key != other else { return nil }
      try sandbox.move(key, to: "../swap")
      try sandbox.move(other, to: key)
      try sandbox.move("../swap", to: other)
    case .forgetKey:
      // It is given up while it is away. A kill seems to explain it when it is back.
      try sandbox.move(key, to: "../forgotten")
      guard (try? sandbox.repair(.all)) != nil, (try? sandbox.fill { try $0.purge() }) != nil,
        sandbox.kind(key) == nil
      else { return nil }
      try sandbox.move("../forgotten", to: key)
      try sandbox.makeDirectory("staging/00000000000000\(hexDigits(&random))")
    default:
      guard let segment = try sandbox.names("journal").last(where: { $0.hasSuffix(".log") }),
        let record = try? sandbox.records("journal/\(segment)").last
      else { return nil }
      try sandbox.flip("journal/\(segment)", at: record.lowerBound + 20)
      if self == .lastRecordAndKey {
        try sandbox.removeTree(key)
      } else {
        guard let metadata = names.first(where: { $0.hasSuffix(".json") }) else { return nil }
        try sandbox.remove("\(key)/\(metadata)")
      }
    }
    return key
  }

  /// Misplaces the files of an entry, or puts a file of another store in their place.
  private func displace(_ sandbox: CheckSandbox, _ random: inout SplitMix64) throws -> String? {
    guard let file = try sandbox.files(".json").randomElement(using: &random),
      let document = try? MetadataDocument(decoding: try sandbox.bytes(file))
    else { return nil }
    let directory = String(file.prefix { $0 != "." }.dropLast(17))
    let entry = document.entry
    switch self {
    case .misplaceNewer:
      let options = Options(settling: .atOnce, createsStore: false)
      guard let store = try? Store(at: sandbox.root, options: options) else { return nil }
      defer { store.close() }
      guard let body = store.lookUp(entry.key, variant: entry.variant).entry?.body
      else { return nil }
      try store.put([1], for: entry.key, variant: entry.variant, metadata: entry.metadata)
      try sandbox.copyDirectory(directory, to: "../older")
      try store.put(body, for: entry.key, variant: entry.variant, metadata: entry.metadata)
      try sandbox.move(directory, to: Bool.random(using: &random) ? "zz" : "entries/zz")
      try sandbox.move("../older", to: directory)
    case .nestDirectory:
      guard let other = try sandbox.keys().filter({ $0 != directory }).randomElement(using: &random)
      else { return nil }
      try sandbox.move(directory, to: "\(other)/\(directory.suffix(30))")
    default:
      let other = try CheckSandbox.withOneEntry()
      try sandbox.write(file, try other.bytes(try other.metadata()))
    }
    if Bool.random(using: &random) {
      for segment in try sandbox.names("journal") { try sandbox.remove("journal/\(segment)") }
    }
    return file
  }

  private func hexDigits(_ random: inout SplitMix64) -> String {
    String(Int.random(in: 16...255, using: &random), radix: 16)
  }
}

extension CheckSandbox {
  /// The directories of the store, without those of the quarantine.
  func directories(_ below: String = ".") throws -> [String] {
    try names(below).flatMap { name -> [String] in
      let path = below == "." ? name : "\(below)/\(name)"
      guard path != "quarantine", kind(path) == .directory else { return [] }
      return [path] + (try directories(path))
    }
  }

  func kind(_ name: String) -> FileKind? {
    guard let directory = try? RealFileSystem().open(userPath: root, [.read, .directory]),
      let path = PathName(bytes: Array(name.utf8))
    else { return nil }
    return try? RealFileSystem().status(at: path, in: directory.raw).kind
  }

  /// Sets the times of a file, in seconds since 1970.
  func setTime(_ name: String, _ seconds: Int) throws {
    let time = timespec(tv_sec: seconds, tv_nsec: 0)
    let set = unsafe utimensat(AT_FDCWD, inside(name), [time, time], 0)
    try #require(set == 0, "\(name): errno \(errno)")
  }

  func hardLink(_ name: String, to other: String) throws {
    let directory = try RealFileSystem().open(userPath: root, [.read, .directory])
    let path = try #require(PathName(bytes: Array(name.utf8)))
    let target = try #require(PathName(bytes: Array(other.utf8)))
    try RealFileSystem().link(path, in: directory.raw, to: target, in: directory.raw)
  }

  func plantSocket(_ name: String) throws {
    let made = unsafe mknod(inside(name), S_IFSOCK | 0o600, 0)
    try #require(made == 0, "\(name): errno \(errno)")
  }

  /// Makes a file whose name is no text.
  func plantFile(_ directory: String, _ name: [UInt8]) throws {
    let parent = try RealFileSystem().open(userPath: inside(directory), [.read, .directory])
    let name = try #require(PathName(bytes: name))
    _ = try RealFileSystem().open(name, in: parent, [.write, .create])
  }
}
