/// Decides whether stored responses may be used, and is notified when the size changes.
///
/// A type of any isolation can be a delegate. A `@MainActor` class implements
/// ``offlineCache(_:didChangeSize:)`` as an ordinary method. If it also implements
/// ``offlineCache(_:shouldReturnCachedResponse:for:)``, that method must be `nonisolated`: it is
/// called during a look-up, on the thread that looks up. No lock of the cache is held during a
/// call.
///
/// ```swift
/// @MainActor final class SizeModel: OfflineCacheDelegate {
///   var size: OfflineCache.Size
///
///   init(of cache: OfflineCache) { size = cache.size }
///
///   func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {
///     self.size = size
///   }
/// }
/// ```
public protocol OfflineCacheDelegate: AnyObject, Sendable {
  /// Returns whether a stored response may be used, once the rules of HTTP allow it.
  ///
  /// If it may not, the network is asked, or there is no response. Called for each hit, before the
  /// body is read, on the thread that looks up; must not block. The default returns true.
  func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool

  /// Called when the size has changed. Several changes in a row may be reported as one, the last.
  ///
  /// Called in a task of the cache, on the actor of the delegate if it has one. The next call is
  /// made after this one has returned. The default does nothing.
  func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) async
}

extension OfflineCacheDelegate {
  /// Returns true.
  public func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool { true }

  /// Does nothing.
  public func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) async {}
}
