import Testing
import ToolTesting

#if os(Linux)
  /// Tells whether this user may make a network of its own with links in it.
  private enum OwnNetwork {
    static let isThere: Bool = {
      let result = try? ToolRun().run(program: shell("ip link add v0 type veth peer name v1"))
      return result?.status == 0
    }()

    /// A script in a new network, which has loopback alone.
    static func shell(_ script: String) -> [[UInt8]] {
      ["/usr/bin/unshare", "-rn", "/bin/sh", "-euc", script].map { Array($0.utf8) }
    }
  }

  @Suite(
    .timeLimit(.minutes(2)),
    .enabled(
      if: OwnNetwork.isThere, "unshare and ip are needed, and the right to a network namespace"))
  struct ReachabilityCommandTests {
    /// Begins to watch, and has `expect WORD` wait until the last line has a word.
    private func watching(_ tool: String, _ folder: String, _ options: String = "") -> String {
      """
      "\(tool)" reachability --watch \(options) > "\(folder)/states" &
      watcher=$!
      trap 'kill -KILL $watcher' EXIT
      expect() {
        for round in $(seq 1 3000); do
          if tail -n 1 "\(folder)/states" | grep -q "$1"; then return; fi
          kill -0 $watcher
          sleep 0.01
        done
        echo "waited in vain for $1" >&2
        exit 9
      }
      network() {
        ip link add v0 type veth peer name v1
        ip link set v1 up
        ip link set v0 up
        ip address add 10.9.0.1/24 dev v0
        ip route add default via 10.9.0.2
      }

      """
    }

    private let end = """

      # Not SIGINT, which a shell has its background jobs ignore.
      kill -TERM $watcher
      status=0
      wait $watcher || status=$?
      trap - EXIT
      exit $status
      """

    private func qualities(_ run: ToolRun) throws -> [String] {
      let lines = String(decoding: try run.read(run.path("states")), as: UTF8.self)
        .split(separator: "\n")
      return lines.map { line in
        line.split(separator: " ").dropFirst().first.map { String($0.dropLast()) } ?? ""
      }
    }

    @Test func `a cut link, a lost route and a rule are seen, and that they come back`() throws {
      let run = ToolRun()
      let script =
        watching(try ToolRun.executable(), run.folder) + """
          expect none:
          network
          expect free:
          ip link set v1 down
          expect 'link v0 of the default route is down'
          ip link set v1 up
          expect free:
          ip rule add priority 10 prohibit
          expect none:
          ip rule delete priority 10
          expect free:
          ip route delete default
          expect none:
          ip -6 rule add priority 10 prohibit
          ip -6 route add default dev v0
          ip -6 rule delete priority 10
          expect free:
          ip link delete v0
          expect none:
          """ + end
      let result = try run.run(program: OwnNetwork.shell(script))
      #expect(result.status == 143, "\(result.errors)")
      #expect(
        try qualities(run) == [
          "none", "free", "none", "free", "none", "free", "none", "free", "none",
        ])
    }

    @Test func `links are constrained by their names`() throws {
      let run = ToolRun()
      let script =
        watching(try ToolRun.executable(), run.folder, "--constrained 'v*'") + """
          network
          expect constrained:
          ip link set v0 down
          ip link set v0 name e0
          ip link set e0 up
          ip route add default via 10.9.0.2
          expect free:
          """ + end
      let result = try run.run(program: OwnNetwork.shell(script))
      #expect(result.status == 143, "\(result.errors)")
    }

    @Test func `lost messages lead to a new look`() throws {
      let run = ToolRun()
      // While it is stopped, more is told than its socket holds; the last thing told is lost.
      let script =
        watching(try ToolRun.executable(), run.folder) + """
          network
          expect free:
          kill -STOP $watcher
          for i in $(seq 1 4000); do
            echo "address add 10.8.0.1/32 dev v0"
            echo "address delete 10.8.0.1/32 dev v0"
          done | ip -batch -
          ip route delete default
          drops=$(awk '$2 == 0 && $9 > 0' /proc/net/netlink | wc -l)
          test "$drops" -gt 0
          kill -CONT $watcher
          expect none:
          """ + end
      let result = try run.run(program: OwnNetwork.shell(script))
      #expect(result.status == 143, "\(result.errors)")
    }

    @Test func `the exit status tells the state`() throws {
      let run = ToolRun()
      let tool = try ToolRun.executable()
      let script = """
        ip link set lo up
        status=0; "\(tool)" reachability || status=$?; test $status -eq 1
        ip link add v0 type veth peer name v1
        ip link set v1 up
        ip link set v0 up
        ip address add 10.9.0.1/24 dev v0
        ip route add default via 10.9.0.2
        "\(tool)" reachability
        status=0; "\(tool)" reachability --constrained v0 || status=$?; test $status -eq 3
        status=0; "\(tool)" reachability --probe 127.0.0.1:9 || status=$?; test $status -eq 1
        ip route delete default
        ip route add prohibit default
        status=0; "\(tool)" reachability --json || status=$?; test $status -eq 1
        """
      let result = try run.run(program: OwnNetwork.shell(script))
      #expect(result.status == 0, "\(result.errors)")
      let lines = result.lines
      try #require(lines.count == 5)
      #expect(lines[0] == "none: there is no default route")
      #expect(lines[1] == "free: the default route is by v0")
      #expect(lines[2] == "constrained: v0 is a constrained link")
      #expect(
        lines[3].hasPrefix("none: the default route is by v0, but 127.0.0.1:9 gives no answer"))
      #expect(lines[4].contains("\"quality\":\"none\",\"links\":[]"))
    }

    @Test func `a probe that is none is a wrong command line`() throws {
      let result = try ToolRun().run("reachability", "--probe", "nowhere")
      #expect(result.status == 64)
      #expect(result.errors.contains("such as example.org:443"))
    }

    @Test(arguments: ["--timeout", "--interval"])
    func `a time of a probe needs one`(option: String) throws {
      let result = try ToolRun().run("reachability", option, "2")
      #expect(result.status == 64)
      #expect(result.errors.contains("\(option) needs --probe"))
    }
  }
#endif
