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
    #expect(MetadataDocument.maximumItems == 65_536)
    #expect(JSONReader.maximumDepth == 16)
    #expect(text.contains("at most 16 deep"))
    #expect(JSONReader.maximumMembers == 64)
    #expect(text.contains("at most 64 members"))
  }
}
