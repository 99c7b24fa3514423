internal import CLibrary

/// The name of the current boot of the machine; it changes each time the machine starts.
package enum BootName {
  /// The name; `nil` if the system does not provide one.
  package static let current: [UInt8]? = read()

  #if canImport(Darwin)
    private static func read() -> [UInt8]? {
      // A UUID with a terminating NUL, sysctl(3).
      var text = [UInt8](repeating: 0, count: 64)
      var count = text.count
      // Safety: the buffer has `count` bytes.
      guard unsafe sysctlbyname("kern.bootsessionuuid", &text, &count, nil, 0) == 0, count > 1
      else { return nil }
      return Array(text[..<(count - 1)])
    }
  #else
    private static func read() -> [UInt8]? {
      let files = RealFileSystem()
      guard let file = try? files.open(userPath: "/proc/sys/kernel/random/boot_id", [.read]),
        let text = try? files.readBytes(file, count: 64, at: 0), text.count > 1
      else { return nil }
      return text
    }
  #endif
}
