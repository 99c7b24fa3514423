import Foundation
import Testing

/// The files of Tests/FuzzCorpus go through the same properties as the mutated input of Tools/fuzz:
/// what the mutation starts from, and what has failed once.
@Suite struct CorpusTests {
  private static let corpus = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "FuzzCorpus")

  private static func files(of target: FuzzTarget) -> [URL] {
    let folder = corpus.appending(path: target.rawValue)
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
    return (names ?? []).sorted().map { folder.appending(path: $0) }
  }

  private static let cases = FuzzTarget.allCases.flatMap { target in
    files(of: target).map { (target, $0.lastPathComponent) }
  }

  /// A property that does not hold ends the program; the line before tells the file.
  @Test(arguments: cases)
  func `every file of the corpus keeps the properties`(target: FuzzTarget, name: String) throws {
    let file = Self.corpus.appending(path: "\(target.rawValue)/\(name)")
    target.run([UInt8](try Data(contentsOf: file)))
  }

  @Test(arguments: FuzzTarget.allCases)
  func `every target has a corpus`(target: FuzzTarget) {
    #expect(Self.files(of: target).count > 1)
  }

  @Test func `every folder of the corpus has a target`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    #expect(Set(names) == Set(FuzzTarget.allCases.map(\.rawValue)))
  }
}
