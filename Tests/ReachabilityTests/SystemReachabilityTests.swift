import CacheSystem
import Testing

@testable import Reachability

#if os(Linux)
  import CLibrary

  @Suite(.timeLimit(.minutes(5))) struct SystemReachabilityTests {
    @Test func `the first element is the present state`() async throws {
      let system = try SystemReachability()
      var reader = system.changes().makeAsyncIterator()
      #expect(await reader.next() != nil)
      system.stop()
      while let state = await reader.next() { #expect(!state.reason.isEmpty) }
    }

    @Test func `threads and descriptors go with the last reference`() async {
      // In a process of its own, as others open files meanwhile.
      await #expect(processExitsWith: .success) {
        func count(_ place: String) -> Int {
          // Safety: the stream is used here alone and closed at the end.
          guard let stream = unsafe opendir("/proc/self/\(place)") else { return -1 }
          defer { unsafe closedir(stream) }
          var count = 0
          while unsafe readdir(stream) != nil { count += 1 }
          return count
        }
        // Warms up what the process itself keeps.
        _ = try SystemReachability().current
        pause(nanoseconds: 50_000_000)
        let files = count("fd")
        let threads = count("task")
        #expect(files > 0)
        let probe = NetworkProbe(host: "127.0.0.1", port: 9, interval: .seconds(60))
        for _ in 0..<5 {
          var all: [SystemReachability] = []
          for _ in 0..<10 { all.append(try SystemReachability(ReachabilityOptions(probe: probe))) }
          let streams = all.map { $0.changes() }
          // Long enough for all of them to sleep: that is where they could be forgotten.
          pause(nanoseconds: 100_000_000)
          all = []
          for stream in streams { for await _ in stream {} }
        }
        // They end by themselves within moments; a leak never does, and the time limit tells.
        while count("fd") > files || count("task") > threads + 2 { pause(nanoseconds: 1_000_000) }
      }
    }

    @Test func `no descriptors left is an error that says so`() async {
      await #expect(processExitsWith: .success) {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        // Safety: both calls take the local.
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = 3
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let error = #expect(throws: ReachabilityError.self) { try SystemReachability() }
        #expect(error?.step == .open)
        #expect(error?.cause == SystemError(EMFILE))
        #expect(error?.description.contains("too many open files") == true)
      }
    }
  }
#endif
