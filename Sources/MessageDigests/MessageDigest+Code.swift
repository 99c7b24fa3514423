extension MessageDigest {
  /// Returns the HMAC of bytes (RFC 2104), which can only be created and checked with the key.
  ///
  /// - Returns: as many bytes as the digest has.
  package static func authenticationCode(
    of bytes: [UInt8], key: [UInt8], _ algorithm: DigestAlgorithm
  ) -> [UInt8] {
    let blockCount = algorithm == .sha512 ? 128 : 64
    var block = key.count > blockCount ? of(key, algorithm) : key
    block += [UInt8](repeating: 0, count: blockCount - block.count)
    let inner = of(block.map { $0 ^ 0x36 } + bytes, algorithm)
    return of(block.map { $0 ^ 0x5C } + inner, algorithm)
  }
}
