import CacheFormat
import CacheStore
import HTTPSemantics

extension ResponseCache {
  /// Creates the response to a request from the stored responses; `nil` if their files are damaged.
  func serving(
    _ found: Representation, _ request: HTTPRequest, at now: HTTPDate, isValidated: Bool = false
  ) -> Serving? {
    let response = found.base.response
    var head = HTTPResponseHead(
      status: response.status,
      fields: rules.fieldsToServe(response, at: now, validated: isValidated))
    var slices: [BodySlice]? = []
    if Preconditions.isNotModified(response, for: request, now: now) {
      head.status = 304
      head.fields = Preconditions.notModifiedFields(of: head.fields)
    } else {
      slices = content(of: found, &head, isWanted: request.method == .get)
    }
    guard let slices else { return nil }
    var ttl =
      rules.freshnessLifetime(of: response) - rules.currentAge(of: response, at: now)
    if rules.isOfFuture(response, now) { ttl = min(ttl, 0) }
    if response.isOutdated { ttl = min(ttl, -1) }
    return Serving(variant: found.base, head: head, slices: slices, ttl: ttl)
  }

  /// Returns the slices of the content, and sets the fields of the head that describe them.
  private func content(
    of found: Representation, _ head: inout HTTPResponseHead, isWanted: Bool
  ) -> [BodySlice]? {
    switch found.answer {
    case .unanswerable: return nil
    case .part, .unsatisfiable:
      guard let range = head.limit(to: found.answer, completeLength: found.completeLength) else {
        return nil
      }
      return isWanted ? slices(of: found, range) : []
    case .whole:
      guard let length = found.completeLength else { return nil }
      if !found.parts.isEmpty {
        head.status = 200
        head.fields.removeAll(named: "Content-Range")
        head.fields.removeContentDigests()
      }
      if head.status != 204, !found.base.isOfHead, !Self.tells(length, head.fields) {
        head.fields.replace(with: HTTPField("Content-Length", String(length)))
      }
      return isWanted ? slices(of: found, 0..<length) : []
    }
  }

  /// Returns whether the fields already contain the length, which is the usual case.
  private static func tells(_ length: UInt64, _ fields: HTTPFields) -> Bool {
    guard let index = fields.firstIndex(named: "Content-Length"),
      fields.firstIndex(named: "Content-Length", from: index + 1) == nil
    else { return false }
    return fields[index].value.elementsEqual(String(length).utf8)
  }

  private func slices(of found: Representation, _ range: Range<UInt64>) -> [BodySlice]? {
    if range.isEmpty { return [] }
    if found.parts.isEmpty {
      guard let body = found.base.body else { return nil }
      return [BodySlice(body: body, range: range)]
    }
    let held = found.parts.compactMap(\.response.contentRange)
    guard held.count == found.parts.count else { return nil }
    var slices: [BodySlice] = []
    for piece in Parts.cover(range.lowerBound...range.upperBound - 1, by: held) {
      guard case .stored(let index, let offset, let count) = piece,
        case .success(let part) = opened(found.parts[index]), let body = part.body,
        offset + count <= part.length
      else { return nil }
      slices.append(BodySlice(body: body, range: offset..<offset + count))
    }
    return slices
  }
}
