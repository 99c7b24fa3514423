import CacheFormat
import HTTPSemantics
import MessageDigests
import Testing

@testable import HTTPDownloads

struct PartContentTests {
  private func record(_ url: String = "http://a/", tag: String = "\"1\"") -> DownloadRecord {
    DownloadRecord(
      file: "f", url: url, answeredBy: url,
      head: HTTPResponseHead(status: 200, fields: [HTTPField("ETag", tag)]),
      started: Timestamp(nanoseconds: 5))
  }

  @Test func `a sum has the end of its block, and the length of the next is read from it`() {
    var content = PartContent(of: record())
    let block = [UInt8](repeating: 7, count: 300)
    #expect(content.sum(of: block).count == PartContent.sumBytes)
    #expect(content.blockLength(content.sum(of: block)) == 300)
    content.append(block)
    #expect(content.written == 300 && content.sumsLength == Int64(PartContent.sumBytes))
    #expect(content.blockLength(content.sum(of: [1])) == 1)
    content.gathered = [1, 2]
    #expect(content.length == 302)
  }

  @Test func `a length that no block has is refused`() {
    var content = PartContent()
    content.append([UInt8](repeating: 0, count: 1_000))
    func sum(_ end: UInt64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: end >> (8 * UInt64($0))) }
        + [UInt8](repeating: 0, count: 16)
    }
    let largest = UInt64(1_000 + PartContent.blockBytes)
    #expect(content.blockLength(sum(largest)) == PartContent.blockBytes)
    for end in [0, 999, 1_000, largest + 1, 1 << 40, .max] {
      #expect(content.blockLength(sum(end)) == nil)
    }
  }

  @Test func `a block of another answer, place or content has another sum`() {
    let content = PartContent(of: record())
    let sum = content.sum(of: [1, 2, 3])
    var later = content
    later.append([1, 2, 3])
    let others = [
      PartContent(of: record("http://b/")).sum(of: [1, 2, 3]),
      PartContent(of: record(tag: "\"2\"")).sum(of: [1, 2, 3]), PartContent().sum(of: [1, 2, 3]),
      later.sum(of: [1, 2, 3]), content.sum(of: [1, 2, 4]), content.sum(of: [1, 2, 3, 0]),
    ]
    #expect(!others.contains(sum) && Set(others).count == others.count)
    #expect(PartContent(of: record()).sum(of: [1, 2, 3]) == sum)
  }

  @Test func `the digest is that of the whole content, and is given once`() {
    var content = PartContent(of: record(), .sha256)
    content.append([1, 2])
    content.append([3])
    let (first, second) = (content.finishDigest(), content.finishDigest())
    #expect(first == MessageDigest.of([1, 2, 3], .sha256) && second == nil)
    var none = PartContent()
    let nothing = none.finishDigest()
    #expect(nothing == nil)
  }
}
