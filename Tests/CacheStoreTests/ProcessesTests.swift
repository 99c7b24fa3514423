import Foundation
import Testing
import ToolTesting

/// Several processes store, remove and read the same keys of one store; each body that is read is
/// checked.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ProcessesTests {
  static let seconds = TestScale.isFull ? 20 : 3

  private func said(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }

  private func verify(_ sandbox: StoreSandbox) throws {
    let verdict = sandbox.path + "/verdict"
    let code = try ProbeProcess.run([sandbox.root, "verify"], output: verdict)
    #expect(code == 0, "\(said(verdict))")
    #expect(sandbox.sessions == [])
    #expect(sandbox.quarantined == [])
    #expect(sandbox.bodies.count == sandbox.metadataFiles.count)
  }

  @Test(.enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing))
  func `four processes on one store read no wrong byte and no damage`() throws {
    let sandbox = StoreSandbox()
    let output = sandbox.path + "/output"
    let processes = try (1...4).map { number in
      try ProbeProcess.start(
        [sandbox.root, "hammer", "\(Self.seconds)", "\(number)"], output: output + "\(number)")
    }
    for (place, process) in processes.enumerated() {
      #expect(try process.wait() == 0, "\(said(output + "\(place + 1)"))")
    }
    for number in 1...4 { #expect(said(output + "\(number)").hasPrefix("OK ")) }
    try verify(sandbox)
  }

  @Test(.enabled(if: ProbeProcess.executable != nil, ProbeProcess.isMissing))
  func `a process that is killed again and again blocks nobody`() throws {
    let sandbox = StoreSandbox()
    let output = sandbox.path + "/output"
    let processes = try (1...4).map { number in
      try ProbeProcess.start(
        [sandbox.root, "hammer", "\(Self.seconds)", "\(number)"], output: output + "\(number)")
    }
    for round in 0..<(Self.seconds * 4) {
      let known = Set(sandbox.sessions)
      let victim = try ProbeProcess.start(
        [sandbox.root, "hammer", "60", "\(100 + round)"], output: output + "0")
      // Killed in its first steps, or later while a body lies in its folder. It says nothing
      // meanwhile that could be waited for.
      try victim.wait { !known.isSuperset(of: sandbox.sessions) }
      let session = sandbox.sessions.first { !known.contains($0) } ?? ""
      let bodies = sandbox.inside("staging/\(session)")
      for _ in 0..<1_000 where round % 3 > 0 && (try? names(in: bodies).isEmpty) == true {
        waitForNextLook()
      }
      victim.send(SIGKILL)
      #expect(try victim.wait() == 1000 + SIGKILL, "\(said(output + "0"))")
    }
    for (place, process) in processes.enumerated() {
      #expect(try process.wait() == 0, "\(said(output + "\(place + 1)"))")
    }
    #expect(said(output + "0") == "")
    try verify(sandbox)
  }
}
