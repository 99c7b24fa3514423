#if canImport(CryptoKit)
  import CryptoKit
#else
  import CCryptoLibrary
#endif

/// Computes a message digest of bytes that arrive in pieces, with the system's library: libcrypto
/// on Linux, CryptoKit on Apple platforms.
@safe
package final class MessageDigest {
  package let algorithm: DigestAlgorithm

  #if canImport(CryptoKit)
    private enum Function {
      case md5(Insecure.MD5)
      case sha256(SHA256)
      case sha512(SHA512)
    }

    private var function: Function
  #else
    // Safety: created by init, freed by deinit, used in between.
    private let context: OpaquePointer
  #endif

  /// Creates a digest without bytes.
  package init(_ algorithm: DigestAlgorithm) {
    self.algorithm = algorithm
    #if canImport(CryptoKit)
      function =
        switch algorithm {
        case .md5: .md5(Insecure.MD5())
        case .sha256: .sha256(SHA256())
        case .sha512: .sha512(SHA512())
        }
    #else
      let method =
        switch algorithm {
        case .md5: unsafe EVP_md5()
        case .sha256: unsafe EVP_sha256()
        case .sha512: unsafe EVP_sha512()
        }
      guard let context = unsafe EVP_MD_CTX_new(),
        unsafe EVP_DigestInit_ex(context, method, nil) == 1
      else { fatalError("libcrypto cannot make a \(algorithm.rawValue) digest") }
      unsafe self.context = context
    #endif
  }

  deinit {
    #if !canImport(CryptoKit)
      unsafe EVP_MD_CTX_free(context)
    #endif
  }

  package func update(_ bytes: borrowing [UInt8]) {
    #if canImport(CryptoKit)
      switch function {
      case .md5(var hash):
        hash.update(data: copy bytes)
        function = .md5(hash)
      case .sha256(var hash):
        hash.update(data: copy bytes)
        function = .sha256(hash)
      case .sha512(var hash):
        hash.update(data: copy bytes)
        function = .sha512(hash)
      }
    #else
      // Safety: libcrypto reads the array's bytes during the call.
      let isDone = unsafe bytes.withUnsafeBytes { buffer in
        unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count) == 1
      }
      guard isDone else { fatalError("libcrypto cannot go on with a digest") }
    #endif
  }

  /// Returns the digest of all bytes; nothing may be added after that.
  package func finish() -> [UInt8] {
    #if canImport(CryptoKit)
      switch function {
      case .md5(let hash): return [UInt8](hash.finalize())
      case .sha256(let hash): return [UInt8](hash.finalize())
      case .sha512(let hash): return [UInt8](hash.finalize())
      }
    #else
      var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
      // Safety: the array has as many bytes as the digest has.
      let isDone = unsafe digest.withUnsafeMutableBytes { buffer in
        unsafe EVP_DigestFinal_ex(
          context, buffer.assumingMemoryBound(to: UInt8.self).baseAddress, nil) == 1
      }
      guard isDone else { fatalError("libcrypto cannot finish a digest") }
      return digest
    #endif
  }

  package static func of(_ bytes: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8] {
    let digest = MessageDigest(algorithm)
    digest.update(bytes)
    return digest.finish()
  }
}
