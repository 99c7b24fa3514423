import CacheFormat
import CacheStore
package import HTTPSemantics

/// Holds the stored responses of a key, seen from one request.
struct FoundVariants {
  /// Those that the request selects (RFC 9111, section 4.1), the newest first.
  var matching: [StoredVariant] = []
  /// The others.
  var others: [StoredVariant] = []
  /// Why there is none.
  var reason = ForwardReason.absent
}

extension ResponseCache {
  /// Finds what is stored for a request.
  func find(_ request: HTTPRequest, _ key: ByteString) -> FoundVariants {
    var found = FoundVariants()
    var variants = stored(key, &found.reason)
    let kept = memory.find(key)
    if !kept.isEmpty { variants += kept }
    if variants.isEmpty, request.method == .head {
      var ignored = found.reason
      variants = stored(keyRule.headKey(of: request), &ignored)
    }
    for variant in variants where rules.mayUse(variant.response) {
      if isSelected(variant.response.selection, by: request) {
        found.matching.append(variant)
      } else {
        found.others.append(variant)
      }
    }
    if found.matching.count > 1 { found.matching.sort(by: Self.isNewer) }
    if found.matching.isEmpty, !found.others.isEmpty { found.reason = .otherVariant }
    return found
  }

  /// Returns when the response that would answer a request from the store was last changed, by the word
  /// of its server: `Last-Modified`, else when it was made; nil where nothing is stored.
  package func lastChanged(_ request: HTTPRequest) -> HTTPDate? {
    guard let newest = find(request, key(of: request)).matching.first?.response else { return nil }
    return newest.facts.lastModified ?? newest.facts.date ?? newest.responseTime
  }

  /// Returns all stored responses of a key: from memory if they are still the same, else read.
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
      case .failure(let miss): reason = miss.reason
      case .success(let variant): variants.append(variant)
      }
    }
    if !variants.isEmpty, variants.count == outline.count, variants.allSatisfy(\.canBeShared) {
      hot.insert(key, HotResponses.Item(outline: outline, variants: variants))
    }
    return variants
  }

  /// Tells whether a request selects a stored response.
  func isSelected(_ selection: Selection, by request: HTTPRequest) -> Bool {
    for name in implicitlySelecting(request)
    where !selection.fields.contains(where: { $0.name == name }) { return false }
    guard ignoresAuthorization else {
      return selection.matches(request.fields, conceal: conceal)
    }
    return Selection(fields: selection.fields.filter { $0.name != "authorization" })
      .matches(request.fields, conceal: conceal)
  }

  /// The most recent response is chosen (RFC 9111, section 4); within one second of `Date` that is
  /// the one that came last.
  private static func isNewer(_ left: StoredVariant, _ right: StoredVariant) -> Bool {
    let leftDate = left.response.facts.date ?? left.response.responseTime
    let rightDate = right.response.facts.date ?? right.response.responseTime
    if leftDate != rightDate { return leftDate > rightDate }
    return EntryFields.responseTime(of: left.info) > EntryFields.responseTime(of: right.info)
  }

  /// Opens the body of a stored response, unless it is open.
  func opened(_ variant: StoredVariant) -> Result<StoredVariant, FoundNothing> {
    if variant.isOpen { return .success(variant) }
    return load(variant.info.key, variant.info.variant, variant.length).flatMap { loaded in
      // What was described and what is opened may be two: others may store in between.
      guard loaded.info.digest == variant.info.digest else {
        return .failure(FoundNothing(.absent))
      }
      let opened = variant.with(loaded.body)
      if opened.canBeShared { hot.update(opened) }
      return .success(opened)
    }
  }

  /// Looks a response up with its body: small ones whole, large ones opened.
  private func load(
    _ key: ByteString, _ number: UInt64, _ length: UInt64
  ) -> Result<StoredVariant, FoundNothing> {
    if length <= UInt64(Self.smallBody) {
      switch store.lookUp(key, variant: number) {
      case .miss(let reason): return .failure(FoundNothing(ForwardReason(reason)))
      case .hit(let entry):
        return variant(entry.info, .bytes(entry.body, entry.source))
      }
    }
    switch store.read(key, variant: number) {
    case .miss(let reason): return .failure(FoundNothing(ForwardReason(reason)))
    case .hit(let info, let reader):
      // Damage is found before the head goes out, while there still is another way to an answer.
      if reader.length <= Self.verifiedBytes, (try? reader.verify()) == nil {
        return .failure(FoundNothing(.damaged))
      }
      return variant(info, .file(reader))
    }
  }

  private func describe(
    _ key: ByteString, _ number: UInt64
  ) -> Result<StoredVariant, FoundNothing> {
    guard let info = store.info(for: key, variant: number) else {
      return .failure(FoundNothing(.absent))
    }
    return variant(info, nil)
  }

  private func variant(
    _ info: EntryInfo, _ body: StoredBody?
  ) -> Result<StoredVariant, FoundNothing> {
    guard let variant = StoredVariant(info, body, rules) else {
      return .failure(FoundNothing(.notAResponse))
    }
    return .success(variant)
  }
}

/// Says why a look-up has found nothing.
struct FoundNothing: Error {
  let reason: ForwardReason

  init(_ reason: ForwardReason) { self.reason = reason }
}
