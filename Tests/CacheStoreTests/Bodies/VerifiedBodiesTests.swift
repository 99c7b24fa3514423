import CacheFormat
import CacheStore
import Foundation
import Testing

@Suite struct VerifiedBodiesTests {
  let sandbox = StoreSandbox()

  private func reader(_ store: Store) throws -> BodyReader {
    guard case .hit(_, let reader) = store.read("k") else {
      throw failure(.notFound, "no hit")
    }
    return reader
  }

  @Test(arguments: [0, 1, 262_144, 262_145, 1_000_000])
  func `a body is verified once, for all its readers, and its position stays`(count: Int) throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(count, seed: 1), for: "k")
    let reader = try reader(store)
    #expect(!reader.isVerified)
    reader.seek(to: 1)
    let position = reader.position
    try reader.verify()
    #expect(reader.position == position)
    #expect(reader.isVerified)
    #expect(try self.reader(store).isVerified)
    try self.reader(store).verify()
  }

  @Test func `reading a body to its end verifies it`() throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(10_000, seed: 1), for: "k")
    let reader = try reader(store)
    _ = try reader.read(upTo: 9_999)
    #expect(!reader.isVerified)
    _ = try reader.read(upTo: 1)
    #expect(reader.isVerified)
  }

  @Test func `what is read out of order verifies nothing`() throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(10_000, seed: 1), for: "k")
    let reader = try reader(store)
    _ = try reader.read(upTo: 10)
    reader.seek(to: 5_000)
    _ = try reader.read(upTo: 10_000)
    #expect(!reader.isVerified)
  }

  @Test(arguments: [0, 5_000, 999_999])
  func `a flipped bit is found, before it was verified and after`(offset: Int) throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(1_000_000, seed: 1), for: "k")
    let body = try #require(sandbox.bodies.first)
    let whole = try reader(store)
    try whole.verify()
    sandbox.flip(body, at: offset)
    for reader in [whole, try reader(store)] {
      #expect(!reader.isVerified)
      #expect(throws: failure(.damaged, sandbox.inside(body))) { try reader.verify() }
      #expect(!reader.isVerified)
    }
  }

  @Test func `a file that is cut off is found`() throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(500_000, seed: 1), for: "k")
    let body = try #require(sandbox.bodies.first)
    let reader = try reader(store)
    sandbox.overwrite(body, Array(sandbox.bytes(body).dropLast()))
    #expect(throws: failure(.damaged, sandbox.inside(body))) { try reader.verify() }
    #expect(!reader.isVerified)
  }

  @Test func `another body in place of one is verified anew`() throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(1000, seed: 1), for: "k")
    let old = try reader(store)
    try old.verify()
    try store.put(TestBody.make(1000, seed: 2), for: "k")
    let new = try reader(store)
    #expect(!new.isVerified)
    try new.verify()
    #expect(new.isVerified && old.isVerified)
    #expect(try old.read(upTo: 1000) == TestBody.make(1000, seed: 1))
  }

  @Test func `any place can be read without moving the position`() throws {
    let store = try sandbox.open()
    let body = TestBody.make(10_000, seed: 1)
    try store.put(body, for: "k")
    let reader = try reader(store)
    for (offset, count) in [(0, 10), (9_990, 10), (9_990, 100), (5_000, 0), (10_000, 5)] {
      let expected = Array(body[offset..<min(body.count, offset + count)])
      #expect(try reader.read(at: UInt64(offset), upTo: count) == expected)
    }
    #expect(try reader.read(at: .max, upTo: .max) == [])
    #expect(try reader.read(at: 5, upTo: -1) == [])
    #expect(reader.position == 0)
  }
}
