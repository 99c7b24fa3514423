import ToolTesting

extension ToolRun {
  /// The folder where the state of an interrupted check is.
  var stateHome: String { path("state") }

  /// Runs `cachefsck` and waits for its end.
  func check(_ arguments: String...) throws -> ToolResult {
    try run(program: try checkWords(arguments.map { Array($0.utf8) }))
  }

  /// The command line that runs `cachefsck` with a state folder of its own.
  func checkWords(_ arguments: [[UInt8]]) throws -> [[UInt8]] {
    ["/usr/bin/env", "XDG_STATE_HOME=\(stateHome)", try ToolRun.executable("cachefsck")]
      .map { Array($0.utf8) } + arguments
  }
}
