import CacheFormat
import MessageDigests

/// The name of an object on a server: that of a body, or of a document. No name contains a URL.
struct ObjectName: Sendable, Hashable {
  /// The two kinds, which are the folders of Bazel's HTTP cache.
  enum Kind: String, Sendable {
    /// Bodies, which never change.
    case body = "cas"
    /// Documents, which do.
    case document = "ac"
  }

  let kind: Kind
  /// 64 lower-case hex digits.
  let digits: String

  /// The path below the base URL.
  var path: String { "\(kind.rawValue)/\(digits)" }

  static func body(_ sha256: [UInt8]) -> ObjectName {
    ObjectName(kind: .body, digits: sha256.hexadecimal)
  }

  static func document(of key: ByteString, in namespace: String) -> ObjectName {
    let text = Array("offlinecache-v1".utf8) + [0] + Array(namespace.utf8) + [0] + key.bytes
    return ObjectName(kind: .document, digits: MessageDigest.of(text, .sha256).hexadecimal)
  }

  /// Returns the name of the purge list of a namespace. A key of the HTTP client is never `purge`.
  static func purgeList(of namespace: String) -> ObjectName { document(of: "purge", in: namespace) }
}

/// Rendezvous hashing: each name has its own order of servers. If a server is unavailable, only its
/// names go to others, and they come back when the server does.
enum Rendezvous {
  /// Returns the indexes of the servers for a name, the first choice first.
  ///
  /// - Complexity: O(*n* log *n*), with *n* digests, in the number of servers.
  static func order(_ servers: [String], for name: ObjectName) -> [Int] {
    guard servers.count > 1 else { return Array(servers.indices) }
    let scores = servers.map { server in
      MessageDigest.of(Array("\(server)\n\(name.digits)".utf8), .sha256)
    }
    return servers.indices.sorted { scores[$1].lexicographicallyPrecedes(scores[$0]) }
  }
}
