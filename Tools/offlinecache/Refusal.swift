import CommandLineTools
import HTTPSemantics

/// Says what it means that a server gives no content, and what to do.
enum Refusal {
  /// Returns the words for a status.
  ///
  /// - Parameters:
  ///   - location: where it redirects to.
  ///   - remedy: what helps where the status says nothing else.
  static func text(_ status: Int, _ location: String?, remedy: String = "check the URL") -> String {
    let answer = "the server answered \(status)"
    return switch status {
    case 300...399:
      if let location {
        "\(answer): it redirects to \(terminalSafe(location)), which cannot be fetched; \(remedy)"
      } else {
        "\(answer); \(remedy)"
      }
    case 401: "\(answer): it wants credentials, or refuses those; see --user and --header"
    case 407: "\(answer): the proxy wants credentials; put them into its URL"
    case 429, 500, 502...504: "\(answer); try again later"
    default: "\(answer); \(remedy)"
    }
  }

  /// Tells whether a server says that it does not have, or does not give, what was asked for; anything
  /// else that is no content is a failure.
  static func isNotFound(_ status: Int) -> Bool { (400...499).contains(status) }

  /// Returns where a redirect leads, at most 200 characters of it, without credentials.
  static func location(_ head: HTTPResponseHead) -> String? {
    guard (300...399).contains(head.status), head.status != 304,
      let location = head.fields.first(named: "Location")?.text
    else { return nil }
    do throws(InvalidURL) {
      return try NormalizedURL(location).string
    } catch {
      return error.url
    }
  }
}
