import CLibrary
import CacheSystem
import Testing

@Suite struct StateFileTests {
  /// Sets or removes a variable of a process that ends soon.
  private static func set(_ name: String, _ value: String?) {
    if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
  }

  @Test func `the folder is below an absolute path of the environment, or there is none`() async {
    await #expect(processExitsWith: .success) {
      // A variable that is not set, one that is empty, and relative paths.
      let cases: [(String?, String?, String?)] = [
        ("/state", "/home/u", "/state/offlinecache"), ("/", nil, "//offlinecache"),
        ("", "/home/u", "/home/u/.local/state/offlinecache"),
        ("state", "/home/u", "/home/u/.local/state/offlinecache"),
        (nil, "/home/u", "/home/u/.local/state/offlinecache"), (nil, nil, nil), ("", "", nil),
        ("~/x", "home", nil),
      ]
      for (state, home, expected) in cases {
        StateFileTests.set("XDG_STATE_HOME", state)
        StateFileTests.set("HOME", home)
        precondition(UserPath.stateFolder == expected)
        precondition(UserPath.stateFile("a b") == expected.map { "\($0)/a b" })
      }
      precondition(UserPath.environment("HOME") == "home")
      precondition(UserPath.environment("OFFLINECACHE_NO_SUCH_VARIABLE") == nil)
      precondition(UserPath.environment("") == nil)
    }
  }

  @Test func `missing folders are made for this user only, others stay as they are`() throws {
    let folder = SystemFolder()
    let files = folder.files
    try files.makeDirectory(userPath: folder.path + "/a", mode: 0o755)
    files.makeFolders(folder.path + "/a/b//c/./d/")
    for (name, mode) in [("a", 0o755), ("a/b", 0o700), ("a/b/c", 0o700), ("a/b/c/d", 0o700)]
      as [(String, UInt16)]
    {
      let status = try files.status(userPath: "\(folder.path)/\(name)")
      #expect(status.kind == .directory && status.mode == mode, "\(name)")
    }
    // Where a file stands, nothing is made, and nothing changes.
    try folder.make("file", "text")
    files.makeFolders(folder.path + "/file/x")
    files.makeFolders("")
    #expect(folder.text("file") == "text")
  }
}
