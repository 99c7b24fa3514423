#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads how much memory this process occupies.
enum Memory {
  /// Returns the resident bytes of this process now.
  static func residentBytes() -> Int {
    #if canImport(Darwin)
      return peakResidentBytes()
    #else
      // proc(5): the second number of statm is the resident set, in pages.
      let fields = readSmallFile("/proc/self/statm").split(separator: " ")
      guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
      return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    #endif
  }

  /// Returns the most resident bytes this process ever had.
  static func peakResidentBytes() -> Int {
    #if canImport(Darwin)
      var usage = rusage()
      // Safety: the kernel fills in the one structure it is given.
      unsafe getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss
    #else
      // Not getrusage: after an exec its figure still holds the peak of the parent.
      for line in readSmallFile("/proc/self/status").split(separator: "\n")
      where line.hasPrefix("VmHWM:") {
        let digits = line.filter { $0 >= "0" && $0 <= "9" }
        return (Int(digits) ?? 0) * 1024
      }
      return 0
    #endif
  }

  /// Returns the text of a file of at most 64 KiB, or nothing.
  private static func readSmallFile(_ path: String) -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    // Safety: read stays within the capacity that is passed along and reports what it filled.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = unsafe max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
