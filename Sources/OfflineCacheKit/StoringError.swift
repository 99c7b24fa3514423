/// The reason why ``OfflineCache/store(_:for:)`` has not stored a response.
public enum StoringError: Error, Sendable, CustomStringConvertible {
  /// The URL of the request cannot be fetched.
  case request(URLError)
  /// The response is not an `HTTPURLResponse`.
  case notHTTP
  /// Its storage policy is `notAllowed`.
  case storagePolicy
  /// The rules of HTTP do not allow storing it.
  case rules(NotStored)
  /// The store has refused it.
  case store(StoreError)

  /// The problem and the advice.
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
