#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Gets asked and told by an ``OfflineCache``, from any thread; must be quick and must not block.
public protocol OfflineCacheDelegate: AnyObject, Sendable {
  /// Decides, after the rules of HTTP, whether a stored response may answer a request.
  ///
  /// Where it may not, the network is asked, or there is no answer. Asked for each hit, before its
  /// body is looked at; the default allows all.
  func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool

  /// Tells that the size has changed; several changes in a row may be told as one, the last.
  func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size)
}

extension OfflineCacheDelegate {
  /// Allows all.
  public func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool { true }

  /// Does nothing.
  public func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {}
}
