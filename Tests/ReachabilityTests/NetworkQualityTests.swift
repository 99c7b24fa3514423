import Testing

@testable import Reachability

@Suite struct NetworkQualityTests {
  private func link(
    _ name: String, up: Bool = true, running: Bool = true, loopback: Bool = false
  ) -> Way {
    .link(.init(name: name, isUp: up, isRunning: running, isLoopback: loopback))
  }

  private func judge(
    _ ways: [Way], _ options: ReachabilityOptions = ReachabilityOptions()
  ) -> NetworkState { NetworkState(ways, options) }

  @Test func `without a way out, or with loopback alone, there is no network`() {
    #expect(judge([.closed, .closed]) == NetworkState(.none, reason: "there is no default route"))
    #expect(judge([link("lo", loopback: true), .closed]).quality == .none)
  }

  @Test func `a link that is down or has no carrier leads nowhere`() {
    for way in [link("eth0", up: false), link("eth0", running: false)] {
      let state = judge([way, way])
      #expect(
        state == NetworkState(.none, reason: "the link eth0 of the default route is down"))
    }
  }

  @Test func `one family is enough`() {
    #expect(judge([.closed, link("eth0")]).quality == .free)
    #expect(judge([link("eth0", running: false), link("wlan0")]).links == ["wlan0"])
    #expect(judge([link("eth0"), link("eth0")]).links == ["eth0"])
  }

  @Test func `modems are constrained, and what the user names`() {
    for name in ["wwan0", "wwp0s20u4", "rmnet_data0", "ppp0"] {
      #expect(judge([link(name), .closed]).quality == .constrained)
    }
    #expect(judge([link("eth0"), link("wwan0")]).quality == .constrained)
    let own = ReachabilityOptions(constrainedLinks: ["usb0", "wlan*"])
    #expect(judge([link("ppp0"), .closed], own).quality == .free)
    #expect(judge([link("usb0"), .closed], own).quality == .constrained)
    #expect(judge([link("usb01"), .closed], own).quality == .free)
    #expect(judge([link("wlan7"), .closed], own).quality == .constrained)
  }

  @Test func `a probe is read as it is typed`() {
    for text in ["example.org:443", "192.0.2.1:80", "[2001:db8::1]:80"] {
      #expect(NetworkProbe(text)?.description == text)
    }
    for text in ["", ":80", "a", "a:", "a:0", "a:65536", "::1:80", "[::1:80", "a b:80", "[]:1"] {
      #expect(NetworkProbe(text) == nil, "\(text)")
    }
  }
}
