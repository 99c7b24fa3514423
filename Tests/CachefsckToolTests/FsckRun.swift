import CLibrary
import CacheFormat
import CacheStore
import Testing
import ToolTesting

extension ToolRun {
  /// The folder where the state of an interrupted check is.
  var stateHome: String { path("state") }

  /// Runs `cachefsck` and waits for its end.
  func check(_ arguments: [String]) throws -> ToolResult {
    try run(program: try checkWords(arguments.map { Array($0.utf8) }))
  }

  /// The command line that runs `cachefsck` with a state folder of its own.
  func checkWords(_ arguments: [[UInt8]]) throws -> [[UInt8]] {
    ["/usr/bin/env", "XDG_STATE_HOME=\(stateHome)", try ToolRun.executable("cachefsck")]
      .map { Array($0.utf8) } + arguments
  }

  /// Makes a store with so many entries, `k0` and so on, with bodies of one byte in files.
  func fill(_ count: Int) throws {
    let store = try Store(at: store, options: Options(settling: .atOnce))
    for number in 0..<count {
      try store.put([UInt8(truncatingIfNeeded: number)], for: ByteString("k\(number)"))
    }
    store.close()
  }

  /// Runs a line of the shell, to which `$0` is the store.
  func shell(_ line: String) throws {
    let words = ["-c", "set -e; " + line, store].map { Array($0.utf8) }
    #expect(try Child("/bin/sh", words).wait() == 0)
  }

  /// Names, modes, lengths and checksums of everything in the store.
  func listing() throws -> String {
    let line =
      "cd \"$0\" && find . -exec ls -ldi {} + | sort -k10 && find . -type f -exec cksum {} +"
    return try run(program: ["/bin/sh", "-c", line, store].map { Array($0.utf8) }).text
  }

  /// Changes store.json into one of a format that is not known yet.
  func makeNewer() throws {
    let path = "\(store)/store.json"
    let text = String(decoding: try read(path), as: UTF8.self)
    let range = try #require(text.firstRange(of: "\"format\": 1,"))
    let end = try #require(text.firstRange(of: ",\n \"checksum\"")).lowerBound
    let newer = text[..<range.lowerBound] + "\"format\": 2," + text[range.upperBound..<end]
    let checksum = Hexadecimal.string(Checksum.of(Array(newer.utf8)))
    try write(Array("\(newer),\n \"checksum\": \"\(checksum)\"\n}\n".utf8), to: path)
  }
}
