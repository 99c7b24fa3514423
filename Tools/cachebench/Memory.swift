import CLibrary

enum Memory {
  static func residentBytes() -> Int {
    #if canImport(Darwin)
      return peakResidentBytes()
    #else
      // proc(5): the second number of statm is the resident set, in pages.
      let fields = FileTree.text(of: "/proc/self/statm").split(separator: " ")
      guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
      return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    #endif
  }

  static func peakResidentBytes() -> Int {
    #if canImport(Darwin)
      var usage = rusage()
      // Safety: the kernel fills in the one structure it is given.
      unsafe getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss
    #else
      // Not getrusage: after an exec its figure still holds the peak of the parent.
      for line in FileTree.text(of: "/proc/self/status").split(separator: "\n")
      where line.hasPrefix("VmHWM:") {
        let digits = line.filter { $0 >= "0" && $0 <= "9" }
        return (Int(digits) ?? 0) * 1024
      }
      return 0
    #endif
  }
}
