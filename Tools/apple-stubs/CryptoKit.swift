// https://developer.apple.com/documentation/cryptokit
import Foundation

/// https://developer.apple.com/documentation/cryptokit/hashfunction
public protocol HashFunction {
  associatedtype Digest: Sequence where Digest.Element == UInt8
  init()
  mutating func update(bufferPointer: UnsafeRawBufferPointer)
  func finalize() -> Digest
}

extension HashFunction {
  /// https://developer.apple.com/documentation/cryptokit/hashfunction/update(data:)
  public mutating func update<D: DataProtocol>(data: D) {}
}

/// https://developer.apple.com/documentation/cryptokit/sha256
public struct SHA256: HashFunction, Sendable {
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
  public func finalize() -> SHA256Digest { SHA256Digest() }
}

/// https://developer.apple.com/documentation/cryptokit/sha512
public struct SHA512: HashFunction, Sendable {
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
  public func finalize() -> SHA512Digest { SHA512Digest() }
}

/// https://developer.apple.com/documentation/cryptokit/insecure
public enum Insecure {
  /// https://developer.apple.com/documentation/cryptokit/insecure/md5
  public struct MD5: HashFunction, Sendable {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> MD5Digest { MD5Digest() }
  }

  /// https://developer.apple.com/documentation/cryptokit/insecure/md5digest
  public struct MD5Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
  }
}

/// https://developer.apple.com/documentation/cryptokit/sha256digest
public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

/// https://developer.apple.com/documentation/cryptokit/sha512digest
public struct SHA512Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}
