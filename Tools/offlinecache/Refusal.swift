import CommandLineTools
import HTTPSemantics

/// The messages for responses without content: what the status means, and what to do.
enum Refusal {
  /// Returns the message for a status.
  ///
  /// - Parameters:
  ///   - location: The target of a redirect.
  ///   - remedy: The advice for statuses that have none of their own.
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

  /// Returns the message for the status of a stored response.
  static func stored(_ status: Int, isOffline: Bool) -> String {
    "the stored answer is \(status); "
      + (isOffline
        ? "without --offline, the server can be asked" : "--refresh asks the server")
  }

  /// Returns whether a status means that the server does not have the content or does not give it
  /// to this client (4xx). Any other status without content is a failure.
  static func isNotFound(_ status: Int) -> Bool { (400...499).contains(status) }

  /// Returns the target of a redirect, cut to 200 characters if it is not a valid URL, without
  /// credentials.
  static func location(_ head: HTTPResponseHead) -> String? {
    guard (300...399).contains(head.status), head.status != 304,
      let location = head.fields.first(named: "Location")?.reference
    else { return nil }
    do throws(InvalidURL) {
      return try NormalizedURL(location).string
    } catch {
      return error.url
    }
  }
}
