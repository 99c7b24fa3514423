import CLibrary
import CommandLineTools
import Testing

@Suite struct InterruptionTests {
  @Test func `work that is done keeps its status when it is ended by force`() async {
    await #expect(processExitsWith: .exitCode(143)) {
      Interruption.watch(patience: 0)
      kill(getpid(), SIGTERM)
      while true { sched_yield() }
    }
    await #expect(processExitsWith: .exitCode(1)) {
      Interruption.watch(patience: 0)
      Interruption.finish(.notFound)
      kill(getpid(), SIGTERM)
      while true { sched_yield() }
    }
  }
}
