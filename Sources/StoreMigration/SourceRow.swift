package import CacheFormat
package import HTTPSemantics

/// One row of a source, with its entry or the reason why it has none.
package struct SourceRow: Sendable {
  package enum Outcome: Sendable {
    case entry(SourceEntry)
    /// No entry, for this reason, with details.
    case skipped(SkipReason, detail: String)
  }

  /// The number of the row in its table (rowid). Rows are returned by ascending number.
  package let row: Int64

  /// The key from the source, for reports; cut after 2,048 bytes, empty if there is none.
  package let key: String

  package let outcome: Outcome
}

package struct SourceEntry: Sendable {
  /// The properties that the source does not have, so that they were made up.
  package enum MadeUp: String, CaseIterable, Sendable {
    /// The status is 200 because there is none.
    case status
    /// The fields are at most `Content-Type`.
    case fields
    /// The time of the response is that of the migration, because the source has only later ones.
    case time
  }

  /// The requested URL, as it is written in the source: an HTTP URL that can be normalised.
  package var url: String

  /// `GET` or `HEAD`.
  package var method = "GET"

  /// The status of the response; 200 if the source has none (``MadeUp/status``).
  package var status: Int

  /// The fields of the response in the order in which they were received. Repeated names are
  /// separate if the source has them so. All can be sent. See ``storedFields``.
  package var fields: HTTPFields

  /// The names of the fields that do not describe the stored body, because the body was decoded and
  /// the fields were not changed.
  package var obsoleteFields: [String] = []

  /// The properties that were made up because the source does not have them.
  package var madeUp: Set<MadeUp> = []

  /// The place of the body; ``SourceCache/openBody(_:)`` opens it.
  package var body: SourceBody

  /// The fields of the request, for the selection by `Vary`; `nil` if they are not known.
  ///
  /// They may have credentials: they must not be written to a log.
  package var requestFields: HTTPFields?

  package var created: Timestamp?

  package var lastAccess: Timestamp?

  /// The time until which the source calls it fresh; a hint.
  package var expires: Timestamp?

  package var received: Timestamp?

  /// The URL of the last response, after redirects.
  package var responseURL: String?

  /// The user's own dictionary.
  package var userInfo: PropertyListValue?

  /// The site for which the entry was kept, if it was kept for one only (cfnetwork).
  package var partition: String?

  /// The fields that select the entry: those of the request, and the credentials that its URL has. The
  /// key has no credentials, and one user must not get the response of another.
  var selectingFields: HTTPFields {
    var fields = requestFields ?? []
    if !fields.contains("Authorization"), let credentials = SourceURL.credentials(in: url) {
      fields.append(HTTPField("Authorization", "Basic \(credentials)"))
    }
    return fields
  }

  /// The fields for the stored body: without the obsolete ones, and with the real length if the
  /// received one is obsolete.
  var storedFields: HTTPFields {
    var fields = fields
    for name in obsoleteFields { fields.removeAll(named: name) }
    if obsoleteFields.contains("Content-Length") {
      fields.append(HTTPField("Content-Length", "\(body.length)"))
    }
    return fields
  }
}
