public import CacheClient
public import CacheStore
public import Foundation

/// Tells why ``OfflineCache/store(_:for:)`` has not stored a response.
public enum StoringError: Error, Sendable, CustomStringConvertible {
  /// The URL of the request is none that can be fetched.
  case request(URLError)
  /// The response is no `HTTPURLResponse`.
  case notHTTP
  /// Its storage policy is `notAllowed`.
  case storagePolicy
  /// The rules of HTTP do not let it be stored.
  case rules(NotStored)
  /// The store cannot take it.
  case store(StoreError)

  /// Says what is wrong and what to do.
  public var description: String {
    switch self {
    case .request(let error): error.localizedDescription
    case .notHTTP: "the response is none of HTTP; store its bytes with Store.put"
    case .storagePolicy: "the storage policy of the response is .notAllowed; make it .allowed"
    case .rules(let reason): "the response is not stored: \(reason)"
    case .store(let error): error.description
    }
  }
}
