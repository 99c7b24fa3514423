import CLibrary
import CacheSystem

func stop(_ code: Int32, _ line: String) -> Never {
  say(line)
  exit(code)
}

/// Writes a line with one write(2), so that a kill never leaves half of it.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  // Safety: the array outlives the call.
  _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
}

/// The value of an environment variable; empty where it is not set.
func environment(_ name: String) -> String {
  UserPath.environment(name) ?? ""
}
