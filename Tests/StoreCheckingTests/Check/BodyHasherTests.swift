import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import StoreChecking

@Suite struct BodyHasherTests {
  private static let name = PathName("body")
  private static let seed: UInt64 = 7
  private static let buffer = 1 << 20

  private let folder = TemporaryFolder()
  private let files = FaultyFiles()

  private var path: String { folder.path + "/body" }

  private func bytes(_ count: Int) -> [UInt8] {
    var random = SplitMix64(seed: UInt64(count))
    return random.bytes(count)
  }

  private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path)) }

  private func hasher(
    _ known: HashedFiles = HashedFiles(keepsAll: false),
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) -> BodyHasher {
    BodyHasher(files, hashSeed: Self.seed, known, isCancelled: isCancelled)
  }

  /// Hashes the file.
  private func read(_ hasher: BodyHasher, _ digest: Digest) throws -> BodyReading {
    let directory = try RealFileSystem().open(userPath: folder.path, [.read, .directory])
    let status = try RealFileSystem().status(at: Self.name, in: directory.raw)
    return hasher.read(Self.name, status, in: directory, expecting: digest)
  }

  @Test(arguments: [0, 1, buffer - 1, buffer, buffer + 1, 2 * buffer, 2 * buffer + 5])
  func `a body of any length is right, or has the digest that is told`(count: Int) throws {
    let bytes = bytes(count)
    try write(bytes)
    let hasher = hasher()
    #expect(try read(hasher, Digest(hashing: bytes)) == .right)
    #expect(hasher.readBytes == count)
    var seeded = DigestHasher(seed: Self.seed)
    seeded.update(bytes)
    #expect(try read(hasher, seeded.digest()) == .right)
    let other = Digest(hashing: [1, 2, 3])
    #expect(try read(hasher, other) == .wrong(Digest(hashing: bytes)))
    #expect(hasher.readBytes == 3 * count)
  }

  @Test(arguments: [100, buffer + 100])
  func `reads that are short or interrupted change nothing`(count: Int) throws {
    let bytes = bytes(count)
    try write(bytes)
    let steps: [Faults.Step] = [
      .short(1), .fail(.interrupted), .short(3), .fail(.interrupted), .short(50),
    ]
    for step in 0..<steps.count {
      files.faults.play(Array(steps[step...]))
      #expect(try read(hasher(), Digest(hashing: bytes)) == .right)
    }
  }

  @Test(arguments: [100, buffer + 100])
  func `a body that cannot be read is neither right nor wrong`(count: Int) throws {
    let bytes = bytes(count)
    try write(bytes)
    let known = HashedFiles(keepsAll: true)
    for (kind, error) in [
      (.open, SystemError(EMFILE)), (.open, .notFound), (.read, .inputOutput),
    ] as [(FileCall.Kind, SystemError)] {
      files.faults.set { $0.kind == kind ? error : nil }
      #expect(try read(hasher(known), Digest(hashing: bytes)) == .unreadable(error))
    }
    files.faults.set(nil)
    #expect(try read(hasher(known), Digest(hashing: bytes)) == .right, "it is not remembered")
  }

  @Test(arguments: [100, buffer + 100], [false, true])
  func `a body that grows before it is read is not right, though its beginning is`(
    count: Int, isSeeded: Bool
  ) throws {
    let bytes = bytes(count)
    try write(bytes)
    let directory = try RealFileSystem().open(userPath: folder.path, [.read, .directory])
    let status = try RealFileSystem().status(at: Self.name, in: directory.raw)
    try write(bytes + [1])
    var digest = isSeeded ? DigestHasher(seed: Self.seed) : DigestHasher()
    digest.update(bytes)
    let reading = hasher().read(Self.name, status, in: directory, expecting: digest.digest())
    #expect(reading == .wrong(Digest(hashing: bytes + [1])))
  }

  @Test func `a file of another volume with the same number is another file`() throws {
    try write([1])
    let directory = try RealFileSystem().open(userPath: folder.path, [.read, .directory])
    var status = try RealFileSystem().status(at: Self.name, in: directory.raw)
    let known = HashedFiles(keepsAll: true)
    known.insert(status, Digest(hashing: [1]))
    status.device += 1
    #expect(known.digest(of: status) == nil)
  }

  @Test func `a check that is cancelled stops in the middle of a long body`() throws {
    let bytes = bytes(8 * Self.buffer)
    try write(bytes)
    let known = HashedFiles(keepsAll: true)
    let pieces = Mutex(0)
    let cancelled = hasher(known) {
      pieces.withLock { pieces in
        pieces += 1
        return pieces > 2
      }
    }
    files.faults.set(nil)
    for digest in [Digest(hashing: bytes), Digest(hashing: [1])] {
      #expect(try read(cancelled, digest) == .notRead)
    }
    #expect(cancelled.readBytes == 2 * Self.buffer)
    #expect(files.faults.calls.count { $0.kind == .read } == 2)
    // What was hashed of it is not taken for the whole.
    #expect(try read(hasher(known), Digest(hashing: bytes)) == .right)
  }

  @Test func `a file with several names is read once, as long as it does not change`() throws {
    try write(bytes(5_000))
    let directory = try RealFileSystem().open(userPath: folder.path, [.read, .directory])
    try RealFileSystem().link(
      Self.name, in: directory.raw, to: PathName("other"), in: directory.raw)
    let hasher = hasher()
    for digest in [Digest(hashing: bytes(5_000)), Digest(hashing: [1])] {
      for _ in 0..<3 { _ = try read(hasher, digest) }
    }
    #expect(hasher.readBytes == 5_000)
    // In place, so that it is the same file.
    let file = try RealFileSystem().open(Self.name, in: directory, [.write])
    try RealFileSystem().write(file, [0xff, 0xff], at: 0)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
    #expect(try read(hasher, Digest(hashing: bytes(5_000))) != .right)
    #expect(hasher.readBytes == 10_000)
  }

  @Test(arguments: [false, true])
  func `a file with one name is read again, unless a later pass needs it`(keepsAll: Bool) throws {
    try write(bytes(5_000))
    let hasher = hasher(HashedFiles(keepsAll: keepsAll))
    for _ in 0..<3 { #expect(try read(hasher, Digest(hashing: bytes(5_000))) == .right) }
    #expect(hasher.readBytes == (keepsAll ? 5_000 : 15_000))
  }
}
