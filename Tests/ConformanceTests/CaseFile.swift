import Foundation

/// Reads cases from JSON, and refuses what it does not know, so that no expectation is overlooked.
struct CaseFile {
  /// Says what cannot be understood, and where.
  struct Malformed: Error, CustomStringConvertible {
    var description: String

    init(_ place: String, _ what: String) {
      description = "\(place): \(what)"
    }
  }

  typealias Object = [String: Any]

  private static let knownMembers: Set<String> = [
    "id", "suite", "suite_name", "name", "kind", "kind_explicit", "spec_anchors",
    "suite_spec_anchors", "depends_on", "browser_only", "browser_skip", "cdn_only", "modes",
    "origin_requests", "may_retry", "in_process", "proxy_only", "requests", "rule", "for_each",
  ]

  /// Reads the cases of a file in the form of the public suite's data, or of our own families.
  static func cases(at path: String) throws -> [ConformanceCase] {
    let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
    guard let document = document as? Object, let tests = document["tests"] as? [Object] else {
      throw Malformed(path, "is no object with a list `tests`")
    }
    return try tests.flatMap(CaseFamily.members(of:)).map(testCase)
  }

  private static func testCase(_ object: Object) throws -> ConformanceCase {
    let id = try require(object["id"] as? String, "a case", "has no id")
    try refuseUnknown(object, known: knownMembers, id)
    let kind = try require((object["kind"] as? String).flatMap(CaseKind.init), id, "kind")
    let requests = try require(object["requests"] as? [Object], id, "requests")
    return ConformanceCase(
      id: id, suite: try require(object["suite"] as? String, id, "suite"), kind: kind,
      dependsOn: object["depends_on"] as? [String] ?? [],
      modes: Set(try require(object["modes"] as? [String], id, "modes")),
      originRequests: object["origin_requests"] as? Int,
      mayRetry: object["may_retry"] as? Bool ?? false,
      isProxyOnly: object["proxy_only"] as? Bool ?? false,
      exchanges: try requests.enumerated().map { number, request in
        try ExchangeReader(request, place: "\(id), request \(number + 1)").exchange()
      })
  }

  static func require<Value>(_ value: Value?, _ place: String, _ what: String) throws -> Value {
    guard let value else { throw Malformed(place, what) }
    return value
  }

  static func refuseUnknown(_ object: Object, known: Set<String>, _ place: String) throws {
    if let name = object.keys.filter({ !known.contains($0) }).min() {
      throw Malformed(place, "the member `\(name)` is not known")
    }
  }
}

/// Makes many cases of one: each combination of the values in `for_each` takes its turn.
///
/// `{name}` stands for the value within any text; a text that is nothing but `{name}` becomes the
/// value itself, so that it can be a number. Of a value that is an object, `{name.member}` stands
/// for a member.
enum CaseFamily {
  static func members(of object: CaseFile.Object) throws -> [CaseFile.Object] {
    guard let dimensions = object["for_each"] as? [String: [Any]] else { return [object] }
    var members: [CaseFile.Object] = [object]
    for (name, values) in dimensions.sorted(by: { $0.key < $1.key }) {
      members = members.flatMap { member in
        values.map { value in
          parts(of: value, name: name).reduce(member) { member, part in
            member.mapValues { replaced($0, "{\(part.name)}", by: part.value) }
          }
        }
      }
    }
    return members
  }

  private static func parts(of value: Any, name: String) -> [(name: String, value: Any)] {
    guard let object = value as? CaseFile.Object else { return [(name, value)] }
    return object.map { ("\(name).\($0.key)", $0.value) }
  }

  private static func replaced(_ json: Any, _ placeholder: String, by value: Any) -> Any {
    switch json {
    case let text as String:
      text == placeholder ? value : text.replacing(placeholder, with: "\(value)")
    case let list as [Any]: list.map { replaced($0, placeholder, by: value) }
    case let object as CaseFile.Object:
      object.mapValues { replaced($0, placeholder, by: value) }
    default: json
    }
  }
}
