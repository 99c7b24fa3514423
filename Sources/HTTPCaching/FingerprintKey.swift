import CacheSystem
import MessageDigests

/// A secret of the user that conceals the values of `Authorization`, `Cookie` and other possible
/// credentials which select stored responses. The store contains only the HMAC-SHA256 of these values;
/// the key is kept elsewhere.
///
/// Somebody who has only the files of the store can neither read nor guess the values. With another
/// key, the responses that were stored for a credential are not found; everything else works as
/// before.
///
/// The file is read or created when the first value is concealed. If it cannot be used, a random
/// key is used until the process ends.
public final class FingerprintKey: Sendable {
  package static let byteCount = 32

  /// The key that is used if a file cannot be used.
  private static let ofProcess = randomBytes()

  private let file: FingerprintKeyFile?
  private let onProblem: @Sendable (FingerprintKeyError) -> Void
  private let bytes: Lock<[UInt8]?>

  /// Uses the key in a file. If there is no file, it is created with a random key.
  ///
  /// - Parameters:
  ///   - path: the path of the file; `nil` for `fingerprint.key` in `offlinecache` below
  ///     `$XDG_STATE_HOME`, or below `~/.local/state` (on Apple platforms
  ///     `~/Library/Application Support`).
  ///   - onProblem: is called once if the file cannot be used.
  public init(
    path: String? = nil, onProblem: @escaping @Sendable (FingerprintKeyError) -> Void = { _ in }
  ) {
    file = FingerprintKeyFile(path: path)
    self.onProblem = onProblem
    bytes = Lock(nil)
  }

  /// Uses a given key: at least 32 bytes that nobody can guess.
  public init(bytes: [UInt8]) {
    precondition(bytes.count >= Self.byteCount, "a key has at least \(Self.byteCount) bytes")
    file = nil
    onProblem = { _ in }
    self.bytes = Lock(bytes)
  }

  /// Reads or creates the key now, for a program that must not use a temporary key instead. If one is
  /// in use, the key of the file replaces it.
  ///
  /// - Throws: ``FingerprintKeyError`` if the file cannot be used.
  public func load() throws(FingerprintKeyError) {
    guard let file, bytes.withLock({ $0 == nil || $0 == Self.ofProcess }) else { return }
    let key = try file.key()
    bytes.withLock { if $0 == nil || $0 == Self.ofProcess { $0 = key } }
  }

  /// Returns the 32 bytes that the store contains in place of a value.
  package func fingerprint(of value: [UInt8]) -> [UInt8] {
    MessageDigest.authenticationCode(of: value, key: key(), .sha256)
  }

  private func key() -> [UInt8] {
    if let key = bytes.withLock({ $0 }) { return key }
    var problem: FingerprintKeyError?
    do throws(FingerprintKeyError) { try load() } catch { problem = error }
    // If several threads get here, the first one decides on the key and reports the problem.
    let (key, isFirst) = bytes.withLock { bytes -> ([UInt8], Bool) in
      if let bytes { return (bytes, false) }
      bytes = Self.ofProcess
      return (Self.ofProcess, true)
    }
    if isFirst, let problem { onProblem(problem) }
    return key
  }

  /// The system's generator is cryptographically secure.
  static func randomBytes() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}
