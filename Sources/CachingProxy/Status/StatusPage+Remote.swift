internal import RemoteTier

// The second tier.
extension StatusPage {
  /// The numbers of the tier; nothing if there is none.
  var remote: HTML {
    guard let remote = report.remote else { return "" }
    return """
      <section class="card" aria-labelledby="remote">
      <h2 id="remote">The second tier</h2>
      \(facts(of: remote))
      <ul>\(servers(of: remote))</ul>
      </section>
      """
  }

  private func facts(of remote: RemoteStatistics) -> HTML {
    let misses = remote.misses.values.reduce(0, +)
    let failed = remote.offersFailed.values.reduce(0, +) + remote.offersDropped
    return """
      <p class="facts">\(StatusText.count(remote.hits)) of \
      \(StatusText.count(remote.hits + misses)) look-ups found a response \
      (\(StatusText.bytes(remote.bytesRead))); \(StatusText.count(remote.offersStored)) responses \
      offered (\(StatusText.bytes(remote.bytesWritten))), \(StatusText.count(failed)) not taken, \
      \(StatusText.count(UInt64(remote.offersWaiting))) waiting.</p>
      """
  }

  private func servers(of remote: RemoteStatistics) -> HTML {
    var list: HTML = ""
    for server in remote.servers {
      list += """
        <li><code>\(server.url)</code>: look-ups \(Self.words(server.reading)), offers \
        \(Self.words(server.writing))</li>
        """
    }
    return list
  }

  private static func words(_ state: String) -> String {
    switch state {
    case "closed": "in use"
    case "off": "switched off: the credentials were refused"
    default: "paused after failures"
    }
  }
}
