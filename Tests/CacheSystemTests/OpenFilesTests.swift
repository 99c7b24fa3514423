import CLibrary
import CacheSystem
import Testing

@Suite struct OpenFilesTests {
  @Test func `the limit is raised once, never beyond what is wanted, and never lowered`() async {
    // In a process of its own, which has a low limit first.
    await #expect(processExitsWith: .success) {
      var low = rlimit(rlim_cur: 100, rlim_max: 5_000)
      // Safety: the call reads the local variable.
      unsafe precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low) == 0)
      precondition(OpenFiles.raiseLimit() == 5_000)
      precondition(OpenFiles.raiseLimit() == 5_000)
      var found = rlimit()
      // Safety: the call fills the local variable.
      unsafe precondition(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &found) == 0)
      precondition(found.rlim_cur == 5_000 && found.rlim_max == 5_000)
      precondition(OpenFiles.wanted > 5_000)
    }
  }
}
