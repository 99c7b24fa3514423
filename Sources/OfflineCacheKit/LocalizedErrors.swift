public import CacheClient
public import CacheStore
public import Foundation
public import HTTPSemantics
public import HTTPTransports
public import Reachability

// What programs show people is `localizedDescription`, which is no use without these: "The operation
// could not be completed. (CacheStore.StoreError error 1.)"

extension StoreError: LocalizedError {
  /// Says what `description` says: path, cause and remedy.
  public var errorDescription: String? { description }
}

extension StoringError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension SubstituteError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension DownloadError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension ClientError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension UploadError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension TransportError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension InvalidURL: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}

extension ReachabilityError: LocalizedError {
  /// Says what `description` says.
  public var errorDescription: String? { description }
}
