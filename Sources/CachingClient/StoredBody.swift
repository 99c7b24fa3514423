import CacheFormat
import CacheStore

/// Holds what the store has for a key: what it knows of it, and the body, whole or to be read.
struct StoredBody: Sendable {
  let info: EntryInfo
  let source: ResponseSource
  let body: ResponseBody.Source

  /// Says what a look-up has led to.
  enum Lookup<Found: Sendable>: Sendable {
    case hit(Found)
    case miss(FetchMissReason)
  }

  /// Looks a key up. Small bodies come whole, from memory if the store has them there, in a few
  /// microseconds; larger ones are opened and read piece by piece, off the cooperative pool.
  static func find(_ key: ByteString, in store: AsyncStore) async -> Lookup<StoredBody> {
    if let info = store.store.info(for: key), info.length > UInt64(BodyRecorder.smallBody) {
      switch await store.read(key) {
      case .hit(let info, let reader):
        return .hit(StoredBody(info: info, source: .disk, body: .reader(reader, store)))
      case .miss(let reason): return .miss(FetchMissReason(reason))
      }
    }
    switch store.store.lookUp(key) {
    case .hit(let entry):
      return .hit(
        StoredBody(
          info: entry.info, source: ResponseSource(entry.source), body: .whole(entry.body)))
    case .miss(let reason): return .miss(FetchMissReason(reason))
    }
  }
}
