package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// The key and the metadata for storing a response.
package struct StoringPlan: Sendable {
  package let key: ByteString
  /// The number that distinguishes the stored responses of the key.
  package let variant: UInt64
  package private(set) var metadata: EntryMetadata
  /// The response, for the rules, before its body is complete.
  package let response: StoredResponse
  /// The bytes that are already stored and precede those from the network; `nil` if there are none.
  package let prefix: BodySlice?

  /// Returns the plan with the SHA-256 of the body in its metadata.
  package func with(sha256: [UInt8]?) -> StoringPlan {
    var plan = self
    plan.metadata.bodySHA256 = sha256
    return plan
  }

  /// Returns whether the store has a response to the same request that was received later, while the
  /// body of this one was under way. A time after `now` proves nothing: the clock was set back.
  package func isSuperseded(in store: Store, now: Timestamp) -> Bool {
    guard store.outline(of: key).contains(where: { $0.variant == variant }),
      let stored = store.info(for: key, variant: variant),
      let received = EntryFields.responseTime(of: metadata)
    else { return false }
    let time = EntryFields.responseTime(of: stored)
    return time > received && time <= now
  }

  /// Stores a whole body.
  ///
  /// - Throws: the errors of `Store.put`.
  /// - Durability: that of the store, once it has returned.
  package func store(_ body: [UInt8], in store: Store) throws(StoreError) -> EntryInfo {
    try store.put(body, for: key, variant: variant, metadata: metadata)
  }
}
