import CacheClient
import CacheStore
import HTTPTransports
import RemoteTier

/// The options and commands of this tool that do what the remedy of a library's error says.
enum OptionAdvice {
  /// Returns the text of an error, with the option or command behind the remedy if there is one.
  static func text(_ error: any Error) -> String {
    option(error).map { "\(error) (\($0))" } ?? "\(error)"
  }

  /// An error with such a text.
  private struct Advised: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns an error for the end of the tool: the same one if there is no option to name.
  static func advised(_ error: any Error) -> any Error {
    option(error) == nil ? error : Advised(description: text(error))
  }

  private static func option(_ error: any Error) -> String? {
    switch error {
    case let error as StoreError: option(error)
    case let error as RemoteCacheError:
      error.remedy.hasPrefix("check the server") ? "'offlinecache remote check'" : nil
    case let error as ClientError:
      if case .transport(let error) = error.cause { option(error) } else { nil }
    case let error as DownloadError:
      switch error.cause {
      case .transport(let error): option(error)
      case .fileExists: "--restart"
      default: nil
      }
    default: nil
    }
  }

  private static func option(_ error: TransportError) -> String? {
    error.code == .insecureRedirect ? "--insecure-redirects" : nil
  }

  private static func option(_ error: StoreError) -> String? {
    if error.code == .pinQuotaExceeded { return "'offlinecache limit --pinned-bytes'" }
    // The limit of open files is the system's.
    guard error.code != .inputOutput else { return nil }
    return error.remedy.contains("limit") ? "'offlinecache limit'" : nil
  }
}
