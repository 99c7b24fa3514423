extension NormalizedURL {
  /// Whether the host may be in the local network: by a name without a dot or with a suffix for local
  /// networks (RFC 6762, RFC 8375), or by an address for private use or of one link (RFC 1918, RFC
  /// 3927, RFC 4193, RFC 4291).
  var isLocal: Bool {
    let name = host.last == "." ? host.dropLast() : host[...]
    if name.hasPrefix("[") {
      return ["[fc", "[fd", "[fe8", "[fe9", "[fea", "[feb"].contains(where: name.hasPrefix)
    }
    let suffixes = [".local", ".internal", ".home.arpa", ".lan"]
    if !name.contains(".") || suffixes.contains(where: name.hasSuffix) { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    guard parts.count == 4, parts.allSatisfy({ $0 != nil }) else { return false }
    switch (parts[0], parts[1]) {
    case (10, _), (192, 168), (169, 254): return true
    case (172, let second?): return (16...31).contains(second)
    default: return false
    }
  }
}
