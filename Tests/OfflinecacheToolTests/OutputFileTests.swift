import CommandLineTools
import Foundation
import Testing
import ToolTesting

@testable import offlinecache

@Suite struct OutputFileTests {
  private let folder = TemporaryFolder()

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
  }

  @Test func `what a killed command has left is removed by the next one`() throws {
    let path = Argument("\(folder.path)/file")
    var hidden: [String] = []
    do {
      // The file is removed when it is given up, but not when the process is killed.
      let file = try OutputFile(path)
      hidden = try withExtendedLifetime(file) { try names }
    }
    #expect(hidden.count == 1)
    for name in hidden { try Data("half".utf8).write(to: folder.url.appendingPathComponent(name)) }
    let file = try OutputFile(path)
    try file.write(Array("whole".utf8))
    try file.finish()
    #expect(try names == ["file"])
  }
}
