package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// Holds where and with what metadata a response is stored.
package struct StoringPlan: Sendable {
  /// Gives the key.
  package let key: ByteString
  /// Tells the stored responses of the key apart.
  package let variant: UInt64
  /// Gives what is stored beside the body.
  package let metadata: EntryMetadata
  /// Gives what the rules see of it, before its body has come.
  package let response: StoredResponse
  /// Gives the bytes that are stored already and come before those from the network; nil: none.
  package let prefix: BodySlice?

  /// Stores a whole body.
  ///
  /// - Throws: as `Store.put`.
  /// - Durability: that of the store, once it has returned.
  package func store(_ body: [UInt8], in store: Store) throws(StoreError) -> EntryInfo {
    try store.put(body, for: key, variant: variant, metadata: metadata)
  }
}
