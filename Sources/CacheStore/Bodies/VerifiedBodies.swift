internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The body files that this process has verified, so that a part of a body, or a body that
/// sendfile(2) copies, need not be read completely each time.
final class VerifiedBodies: Sendable {
  /// The identity of a file and its contents. Writing to a file changes its time or length.
  struct Identity: Hashable {
    let file: FileIdentity
    let length: UInt64
    let modified: Int64

    init(_ status: FileStatus) {
      file = status.identity
      length = status.length
      modified = status.modified
    }
  }

  /// The most files that are remembered. When it is reached, half of them are forgotten.
  static let maximumCount = 8192

  private let digests = Mutex<[Identity: Digest]>([:])

  func contains(_ identity: Identity, _ digest: Digest) -> Bool {
    digests.withLock { $0[identity] == digest }
  }

  func insert(_ identity: Identity, _ digest: Digest) {
    digests.withLock { digests in
      if digests.count >= Self.maximumCount {
        for old in Array(digests.keys.prefix(Self.maximumCount / 2)) { digests[old] = nil }
      }
      digests[identity] = digest
    }
  }
}
