// swift-format-ignore-file: AlwaysUseLowerCamelCase
// Foundation of Apple platforms, which has the URL loading system in itself.
@_exported import Foundation
@_exported import FoundationNetworking

/// https://developer.apple.com/documentation/corefoundation/cfrunloop
public final class CFRunLoop {}

/// https://developer.apple.com/documentation/corefoundation/cfrunloopwakeup(_:)
public func CFRunLoopWakeUp(_ loop: CFRunLoop!) {}

extension RunLoop {
  /// https://developer.apple.com/documentation/foundation/runloop/getcfrunloop()
  public func getCFRunLoop() -> CFRunLoop { CFRunLoop() }
}
