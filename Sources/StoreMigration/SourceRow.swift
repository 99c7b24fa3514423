package import CacheFormat
package import HTTPSemantics

/// What became of one row of a source.
package struct SourceRow: Sendable {
  /// What the row gives.
  package enum Outcome: Sendable {
    /// A response.
    case entry(SourceEntry)
    /// Why it gives nothing, and a few words on the case.
    case skipped(SkipReason, detail: String)
  }

  /// The number of the row in its table (rowid); rows come by rising number.
  package let row: Int64

  /// The key as it stands in the source, for reports; cut after 2,048 bytes, empty without one.
  package let key: String

  /// What the row gives.
  package let outcome: Outcome
}

/// A response as a source has it.
package struct SourceEntry: Sendable {
  /// What the source does not have, so that it was made up.
  package struct MadeUp: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    package let rawValue: UInt8
    /// Creates a set from its bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The status is 200 because there is none.
    package static let status = MadeUp(rawValue: 1)
    /// The fields are at most `Content-Type`.
    package static let fields = MadeUp(rawValue: 2)
  }

  /// The URL that was asked for, as it is written in the source: an HTTP URL that can be normalised.
  package var url: String

  /// `GET` or `HEAD`.
  package var method: String

  /// The status of the response; 200 if the source has none (``MadeUp/status``).
  package var status: Int

  /// The fields of the response in their order as they were received, repeated names apart where the
  /// source tells; all can be sent. See ``storedFields``.
  package var fields: HTTPFields

  /// The names of the fields that do not describe the stored body: the body was decoded, its fields were not.
  package var obsoleteFields: [String] = []

  /// What was made up because the source does not have it.
  package var madeUp: MadeUp = []

  /// Where the body is; ``SourceCache/openBody(_:)`` opens it.
  package var body: SourceBody

  /// The fields of the request that was answered, from which `Vary` selects; nil: not known.
  ///
  /// They may hold credentials: nothing of them belongs into a log.
  package var requestFields: HTTPFields?

  /// When the row was made.
  package var created: Timestamp?

  /// When the entry was last asked for.
  package var lastAccess: Timestamp?

  /// Until when the source calls it fresh; a hint.
  package var expires: Timestamp?

  /// When the response was received.
  package var received: Timestamp?

  /// The URL that answered in the end, after redirects.
  package var responseURL: String?

  /// The media type without parameters, as the source has it.
  package var mediaType: String?

  /// The user's own dictionary.
  package var userInfo: PropertyListValue?

  /// The site for which alone the entry was kept (cfnetwork).
  package var partition: String?

  /// How many fields of the response were left out, because nobody could send them.
  package var invalidFields = 0

  init(
    url: String, method: String = "GET", status: Int, fields: HTTPFields, body: SourceBody
  ) {
    self.url = url
    self.method = method
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The fields as they fit the stored body: without the obsolete ones, with the real length where
  /// the one that was received is one of them.
  package var storedFields: HTTPFields {
    var fields = fields
    for name in obsoleteFields { fields.removeAll(named: name) }
    if obsoleteFields.contains("Content-Length") {
      fields.append(HTTPField("Content-Length", "\(body.length)"))
    }
    return fields
  }
}
