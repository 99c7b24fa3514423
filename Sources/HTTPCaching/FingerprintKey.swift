import MessageDigests
import Synchronization

/// A secret of the user's with which the values of `Authorization` and `Cookie` that select stored
/// responses are made unrecognisable: a store has their HMAC-SHA256, and the key lies elsewhere.
///
/// Who has the store's files alone can neither read nor guess them. With another key, what is stored
/// for a credential is not found; nothing else depends on it.
///
/// The file is read, or made, when the first value has to be concealed. Where it cannot be used, a
/// random key takes its place until the process ends.
public final class FingerprintKey: Sendable {
  /// The number of bytes of a key.
  package static let byteCount = 32

  /// Takes the place of files that cannot be used.
  private static let ofProcess = randomBytes()

  private let file: FingerprintKeyFile?
  private let onProblem: @Sendable (FingerprintKeyError) -> Void
  private let bytes: Mutex<[UInt8]?>

  /// Uses the key in a file, which is made with a random key if there is none.
  ///
  /// - Parameters:
  ///   - path: of the file; nil: `fingerprint.key` in `offlinecache` below `$XDG_STATE_HOME`, or below
  ///     `~/.local/state` (on Apple platforms `~/Library/Application Support`).
  ///   - onProblem: is told, once, why the file cannot be used.
  public init(
    path: String? = nil, onProblem: @escaping @Sendable (FingerprintKeyError) -> Void = { _ in }
  ) {
    file = FingerprintKeyFile(path: path)
    self.onProblem = onProblem
    bytes = Mutex(nil)
  }

  /// Uses these bytes; at least ``byteCount`` that nobody can guess.
  public init(bytes: [UInt8]) {
    precondition(bytes.count >= Self.byteCount, "a key has at least \(Self.byteCount) bytes")
    file = nil
    onProblem = { _ in }
    self.bytes = Mutex(bytes)
  }

  /// Makes a key that nobody else will ever have.
  public static func random() -> FingerprintKey { FingerprintKey(bytes: randomBytes()) }

  /// Reads the key now, or makes it, for a program that wants no other one in its place.
  ///
  /// - Throws: ``FingerprintKeyError`` if the file cannot be used.
  public func load() throws(FingerprintKeyError) {
    guard let file, bytes.withLock({ $0 == nil }) else { return }
    let key = try file.key()
    bytes.withLock { $0 = $0 ?? key }
  }

  /// Returns what stands for a value in a store: ``byteCount`` bytes.
  func fingerprint(of value: [UInt8]) -> [UInt8] {
    MessageDigest.authenticationCode(of: value, key: key(), .sha256)
  }

  private func key() -> [UInt8] {
    if let key = bytes.withLock({ $0 }) { return key }
    var problem: FingerprintKeyError?
    do throws(FingerprintKeyError) { try load() } catch { problem = error }
    // Of several threads the first one counts, for the key and for the message.
    let (key, isFirst) = bytes.withLock { bytes -> ([UInt8], Bool) in
      if let bytes { return (bytes, false) }
      bytes = Self.ofProcess
      return (Self.ofProcess, true)
    }
    if isFirst, let problem { onProblem(problem) }
    return key
  }

  /// The system's generator is a cryptographic one.
  static func randomBytes() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}
