#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Decides on stored responses, and is told of changes of the size.
///
/// A type of any isolation can be a delegate. A `@MainActor` class implements
/// ``offlineCache(_:didChangeSize:)`` as an ordinary method, and
/// ``offlineCache(_:shouldReturnCachedResponse:for:)``, if it needs it, as a `nonisolated` one: that call is
/// answered within a look-up, on the thread that looks up. No lock of the cache is held during a call.
///
/// ```swift
/// @MainActor final class SizeModel: OfflineCacheDelegate {
///   var text = ""
///
///   func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {
///     text = "\(size.physical >> 20) MB"
///   }
/// }
/// ```
public protocol OfflineCacheDelegate: AnyObject, Sendable {
  /// Decides, after the rules of HTTP, whether a stored response may answer a request.
  ///
  /// If it may not, the network is asked, or there is no answer. Called for each hit, before the body is
  /// read, on the thread that looks up; must not block. The default allows all.
  func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool

  /// Is told that the size has changed; several changes in a row may be reported as one, the last.
  ///
  /// Called in a task of the cache, on the actor of the delegate if it has one. The next call comes after
  /// this one has returned. The default does nothing.
  func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) async
}

extension OfflineCacheDelegate {
  /// Allows all.
  public func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool { true }

  /// Does nothing.
  public func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) async {}
}
