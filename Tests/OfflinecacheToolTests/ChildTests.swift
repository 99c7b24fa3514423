import CLibrary
import Testing
import ToolTesting

/// What the tests of programs stand on.
@Suite(.timeLimit(.minutes(1))) struct ChildTests {
  @Test func `a wait for a child ends with an error when the child ends first`() throws {
    let child = try Child("/bin/sh", ["-c", "exit 3"].map { Array($0.utf8) })
    let error = #expect(throws: ChildEnded.self) { try child.wait { false } }
    #expect(error?.status == 3)
    #expect(try child.wait() == 3)
  }

  @Test func `a child is killed with its last reference`() throws {
    let pipe = try Pipe()
    defer { close(pipe.reader) }
    func start() throws {
      _ = try Child(
        "/bin/sleep", [Array("1000".utf8)], descriptors: [pipe.writer, pipe.writer])
    }
    try start()
    close(pipe.writer)
    #expect(try readAll(pipe.reader).isEmpty)
  }

  @Test func `a wait ends when the test is cancelled`() async {
    let task = Task { await eventually { false } }
    task.cancel()
    await task.value
  }

  @Test func `unused ports are different`() throws {
    #expect(Set(try LoopbackListener.unusedPorts(200)).count == 200)
  }
}
