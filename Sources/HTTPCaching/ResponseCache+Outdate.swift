package import CacheFormat
import CacheStore
package import HTTPSemantics

// Stored responses of which the origin has shown that it has others.
extension ResponseCache {
  /// Updates stored responses from a response to `HEAD` (RFC 9111, section 4.3.5).
  ///
  /// - Returns: Whether it shows that a stored response must not be used any more, which was not known.
  func learn(
    from head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) -> Bool {
    let reason = whyNotStored(head, forwarding, times)
    guard reason == nil || Self.forbidsReuse(reason, to: forwarding.original) else { return false }
    var isOutdated = false
    for (variant, outcome) in compared(head, forwarding, times) {
      // The origin was asked whether it has changed, and has not confirmed it.
      let isUnconfirmed =
        outcome == .nothing && head.status == 200
        && forwarding.validating.contains { $0.info.variant == variant.info.variant }
      if outcome == .invalidate || isUnconfirmed {
        isOutdated = isOutdated || !variant.response.isOutdated
        outdate(variant)
      } else if outcome == .freshen {
        isOutdated = freshen(variant, forwarding, head, times).isRemoved || isOutdated
      }
    }
    return isOutdated
  }

  /// Makes whole responses stale if a part that was received belongs to another version of them. An answer to
  /// a user's own request may be meant for that user alone.
  func outdateWhole(
    _ part: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) {
    if forwarding.original.isPersonal {
      switch whyNotStored(part, forwarding, times) {
      case .noStoreResponse, .privateResponse, .authorization, .cookie, .setCookie, .varyAll: return
      default: break
      }
    }
    for (variant, outcome) in compared(part, forwarding, times)
    where variant.response.status == 200 && outcome == .invalidate { outdate(variant) }
  }

  private func whyNotStored(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) -> NotStoredReason? {
    let asked = HTTPRequest(url: forwarding.original.url, fields: forwarding.original.fields)
    return rules.whyNotStored(asked, head, now: times.response.date)
  }

  /// Compares a response without the whole content with the stored responses that it may be about, but not
  /// with those that were stored after the request was sent. A time after the response proves nothing:
  /// the clock was set back.
  private func compared(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) -> [(StoredVariant, Freshening.Outcome)] {
    find(forwarding.original, forwarding.key).matching.filter {
      $0.times.response <= times.request || $0.times.response > times.response
    }.map {
      let length = $0.isOfHead ? $0.response.fields.contentLength : $0.length
      return ($0, Freshening.outcome(of: head, for: $0.response, bodyLength: length))
    }
  }

  /// Makes a stored response stale: there is a newer one, but this one may still be used without a
  /// network. A response that is kept in memory only is removed.
  private func outdate(_ variant: StoredVariant) {
    if memory.contains(variant.info) { return removeIfSame(variant.info) }
    let known = variant.info.metadata
    _ = try? store.update(variant.info.key, variant: variant.info.variant) { metadata in
      guard !variant.response.isOutdated, metadata.isSameResponse(as: known) else { return }
      EntryFields.markAsOutdated(&metadata)
    }
  }

  /// Makes responses with `Vary` stale if the origin has now sent a newer one without it to a request
  /// that selects them. Otherwise they would be preferred to the new one.
  func outdateVaried(by plan: StoringPlan, _ forwarding: Forwarding) {
    guard plan.response.status != 206, !plan.response.fields.contains("Vary"),
      hasVariants(plan.key)
    else { return }
    for variant in find(forwarding.original, plan.key).matching
    where variant.response.fields.contains("Vary")
      && Self.date(of: variant.response) <= Self.date(of: plan.response)
    { outdate(variant) }
  }
}

// Removing what is replaced or invalid.
extension ResponseCache {
  /// Returns the keys of the responses that an unsafe request has invalidated (RFC 9111, section
  /// 4.4).
  package func invalidated(
    by request: HTTPRequest, _ head: HTTPResponseHead
  ) -> [ByteString] {
    Invalidation.targets(of: request, answered: head).flatMap { url in
      keys(of: HTTPRequest(url: url, fields: request.fields))
    }
  }

  /// Removes a stored response, but not another one that has replaced it.
  package func removeIfSame(_ info: EntryInfo) {
    func isSame(_ other: EntryInfo) -> Bool {
      (other.variant, other.digest, other.created) == (info.variant, info.digest, info.created)
    }
    memory.remove(info.key, where: isSame)
    guard let stored = store.info(for: info.key, variant: info.variant), isSame(stored) else {
      return
    }
    _ = try? store.remove(info.key, variant: info.variant)
  }

  /// Removes the responses of a key. If the store cannot do that, this process does not serve them.
  ///
  /// - Parameter time: the time of the answer that makes them invalid: those that are received later stay.
  package func invalidate(_ key: ByteString, at time: Timestamp) {
    memory.remove(key)
    do throws(StoreError) {
      try store.remove(key)
    } catch {
      if !store.outline(of: key).isEmpty { outdated.insert(key, at: time) }
    }
  }
}
