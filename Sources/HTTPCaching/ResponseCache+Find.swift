import CacheFormat
import CacheStore
package import HTTPSemantics

/// The stored responses of a key, divided by whether a request selects them.
struct FoundVariants {
  /// The responses that the request selects (RFC 9111, section 4.1), the newest first.
  var matching: [StoredVariant] = []
  var others: [StoredVariant] = []
  /// The responses of the history that the request selects, the newest first.
  var history: [StoredVariant] = []
  /// Whether the history has responses that the request does not select.
  var hasOtherHistory = false
  var reason = ForwardReason.absent
}

extension ResponseCache {
  /// Finds the stored responses for a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: Its key.
  ///   - takesOtherCodings: Whether the request also selects responses to requests with another
  ///     `Accept-Encoding`, if it accepts their content coding.
  func find(
    _ request: HTTPRequest, _ key: ByteString, takesOtherCodings: Bool = false
  ) -> FoundVariants {
    var found = FoundVariants()
    var variants = valid(key, &found.reason)
    let kept = memory.find(key)
    if !kept.isEmpty { variants += kept }
    if variants.isEmpty, found.reason == .absent {
      if damaged.time(of: key) != nil { found.reason = .damaged }
      if (try? store.checkOpen()) == nil { found.reason = .closed }
    }
    if variants.isEmpty, request.method == .head {
      var ignored = found.reason
      variants = valid(keyRule.headKey(of: request), &ignored)
    }
    for variant in variants where rules.mayUse(variant.response) {
      let isSelected =
        isSelected(variant.response.selection, by: request)
        || (takesOtherCodings && isSelectedButForCoding(variant.response, by: request))
      if variant.isHistory {
        // Another process may have stored it, with other rules.
        guard rules.hasHistory else { continue }
        if isSelected { found.history.append(variant) } else { found.hasOtherHistory = true }
      } else if isSelected {
        found.matching.append(variant)
      } else {
        found.others.append(variant)
      }
    }
    if found.matching.count > 1 { found.matching.sort(by: Self.isNewer) }
    if found.history.count > 1 { found.history.sort(by: Self.isNewer) }
    if found.matching.isEmpty, !found.others.isEmpty { found.reason = .otherVariant }
    return found
  }

  /// Returns the time of the last change of the response that would be served from the store: its
  /// `Last-Modified`, otherwise the time at which it was made; `nil` if there is no such response.
  package func lastChanged(_ request: HTTPRequest) -> HTTPDate? {
    guard let newest = find(request, key(of: request)).matching.first?.response else { return nil }
    return newest.facts.lastModified ?? newest.facts.date ?? newest.responseTime
  }

  /// Returns whether a decision about a request has to read files: something is stored for it that
  /// is not in memory.
  package func readsFiles(for request: HTTPRequest) -> Bool {
    readsFiles(for: key(of: request))
      || request.method == .head && readsFiles(for: keyRule.headKey(of: request))
  }

  private func readsFiles(for key: ByteString) -> Bool {
    if let item = hot.find(key) { return !item.variants.allSatisfy(\.isOpen) }
    return !store.outline(of: key).isEmpty
  }

  /// Returns the stored responses of a key, without those that could not be removed when they became
  /// invalid.
  private func valid(_ key: ByteString, _ reason: inout ForwardReason) -> [StoredVariant] {
    let variants = stored(key, &reason)
    guard let time = outdated.time(of: key) else { return variants }
    return variants.filter { $0.times.response >= time }
  }

  /// Returns all stored responses of a key: from memory if they are still current, otherwise from
  /// the store.
  private func stored(_ key: ByteString, _ reason: inout ForwardReason) -> [StoredVariant] {
    if let item = hot.find(key) {
      if store.revisit(key, item.outline) { return item.variants }
      hot.remove(key)
    }
    let outline = store.outline(of: key)
    var variants: [StoredVariant] = []
    for item in outline {
      switch outline.count == 1
        ? load(key, item.variant, item.length) : describe(key, item.variant)
      {
      case .failure(let miss): reason = miss
      case .success(let variant): variants.append(variant)
      }
    }
    if !variants.isEmpty, variants.count == outline.count, variants.allSatisfy(\.canBeShared) {
      hot.insert(key, HotResponses.Item(outline: outline, variants: variants))
    }
    return variants
  }

  func isSelected(_ selection: Selection, by request: HTTPRequest) -> Bool {
    for name in implicitlySelecting(request)
    where !selection.fields.contains(where: { $0.name == name }) { return false }
    guard ignoresAuthorization else {
      return selection.matches(request.fields, conceal: conceal)
    }
    return Selection(fields: selection.fields.filter { $0.name != "authorization" })
      .matches(request.fields, conceal: conceal)
  }

  /// The most recent response is chosen (RFC 9111, section 4). If the `Date` is the same, it is the
  /// one that was received last.
  private static func isNewer(_ left: StoredVariant, _ right: StoredVariant) -> Bool {
    let dates = (left: date(of: left.response), right: date(of: right.response))
    if dates.left != dates.right { return dates.left > dates.right }
    return left.times.response > right.times.response
  }

  static func date(of response: StoredResponse) -> HTTPDate {
    response.facts.date ?? response.responseTime
  }

  /// Opens the body of a stored response, unless it is already open.
  func opened(_ variant: StoredVariant) -> Result<StoredVariant, ForwardReason> {
    if variant.isOpen { return .success(variant) }
    return load(variant.info.key, variant.info.variant, variant.length).flatMap { loaded in
      // Another process may have replaced the response since it was described.
      guard loaded.info.digest == variant.info.digest else {
        return .failure(.absent)
      }
      // Not the given form of it, which may be for one caller alone.
      if loaded.canBeShared { hot.update(loaded) }
      return .success(variant.with(loaded.body))
    }
  }

  /// Looks up a response with its body: reads a small body, and opens a large one.
  private func load(
    _ key: ByteString, _ number: UInt64, _ length: UInt64
  ) -> Result<StoredVariant, ForwardReason> {
    let loaded = read(key, number, length)
    if case .failure(.damaged) = loaded { damaged.insert(key) }
    return loaded
  }

  private func read(
    _ key: ByteString, _ number: UInt64, _ length: UInt64
  ) -> Result<StoredVariant, ForwardReason> {
    if length <= UInt64(Self.smallBody) {
      switch store.lookUp(key, variant: number) {
      case .miss(let reason): return .failure(ForwardReason(reason))
      case .hit(let entry):
        return variant(entry.info, .bytes(entry.body, entry.source))
      }
    }
    switch store.read(key, variant: number) {
    case .miss(let reason): return .failure(ForwardReason(reason))
    case .hit(let info, let reader):
      // Damage must be found before the head is sent, while another response is still possible.
      if reader.length <= Self.verifiedBytes, (try? reader.verify()) == nil {
        return .failure(.damaged)
      }
      return variant(info, .file(reader))
    }
  }

  private func describe(
    _ key: ByteString, _ number: UInt64
  ) -> Result<StoredVariant, ForwardReason> {
    guard let info = store.info(for: key, variant: number) else {
      return .failure(.absent)
    }
    return variant(info, nil)
  }

  private func variant(
    _ info: EntryInfo, _ body: StoredBody?
  ) -> Result<StoredVariant, ForwardReason> {
    guard let variant = StoredVariant(info, body, rules) else {
      return .failure(.notAResponse)
    }
    return .success(variant)
  }
}
