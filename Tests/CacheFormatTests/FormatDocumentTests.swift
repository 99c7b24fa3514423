import Foundation
import Testing

@testable import CacheFormat

@Suite struct FormatDocumentTests {
  private let text: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    text = try String(contentsOf: root.appending(path: "Docs/Format.md"), encoding: .utf8)
  }

  @Test(arguments: [goldenMetadataText, goldenStoreText])
  func `the worked examples are the golden bytes`(document: String) {
    let lines = document.split(separator: "\n").map { "    \($0)\n" }
    #expect(text.contains(lines.joined()))
    #expect(text.contains("\(document.utf8.count) bytes"))
  }

  @Test func `the numbers are those of the code`() {
    #expect(DocumentEnvelope.suffixLength == 36)
    #expect(text.contains("fixed length of 36 bytes"))
    #expect(MetadataDocument.maximumBytes == 8_388_608)
    #expect(text.contains("8,388,608 bytes"))
    #expect(StoreDescription.maximumBytes == 65_536)
    #expect(MetadataDocument.maximumItems == 65_535)
    #expect(text.contains("65,535 fields"))
    #expect(JSONReader.maximumDepth == 16)
    #expect(text.contains("at most 16 deep"))
    #expect(JSONReader.maximumMembers == 64)
    #expect(text.contains("at most 64 members"))
  }

  @Test(arguments: [
    (RecordGolden.header, 0), (RecordGolden.put, 64), (RecordGolden.seal, 560),
  ])
  func `the worked example of a segment is made of the golden bytes`(bytes: [UInt8], offset: Int) {
    for start in stride(from: 0, to: bytes.count, by: 16) {
      let groups = stride(from: start, to: min(start + 16, bytes.count), by: 4).map { group in
        bytes[group..<group + 4].map { Hexadecimal.string(UInt64($0), digits: 2) }.joined()
      }
      let digits = groups.joined(separator: " ")
      let place = Hexadecimal.string(UInt64(offset + start), digits: 4)
      #expect(text.contains("    \(place)  \(digits)  "), "at byte \(offset + start)")
    }
  }

  @Test func `the numbers of records are those of the code`() {
    #expect(RecordFrame.maximumLength == 4_194_304)
    #expect(text.contains("32 to 4,194,304, a multiple of 8"))
    #expect(TouchRecord.maximumCount == 2_048)
    #expect(text.contains("up to 2,048 accesses"))
    let seed = RecordFrame.seed(
      hashSeed: RecordGolden.hashSeed, segment: RecordGolden.segment, offset: 64)
    #expect(text.contains("The seed of its checksum is \(Hexadecimal.string(seed)):"))
  }
}
