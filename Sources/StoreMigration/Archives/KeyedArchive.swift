internal import CacheFormat

/// Reads archives of NSKeyedArchiver, without creating an object of any class.
///
///     {$version: 100000, $archiver: "NSKeyedArchiver", $top: {root: UID}, $objects: ["$null", ...]}
///
/// An object is an entry of `$objects`. Objects refer to one another by UID, an index in it.
struct KeyedArchive {
  /// One archived object: a dictionary with its class, or a plain string, number or data.
  typealias Object = PropertyListObject

  let list: BinaryPropertyList
  private let objects: References

  /// The archived object, or `nil` if nil was archived.
  private(set) var root: Object?

  /// Finds the parts of the archive.
  ///
  /// - Throws: `.wrongType` for a property list that is not an archive.
  init(_ bytes: [UInt8]) throws(PropertyListError) {
    let list = try BinaryPropertyList(bytes)
    var budget = PropertyListBudget()
    guard case .dictionary(let frame) = try list.object(list.root),
      let archiver = try list.value(of: "$archiver", in: frame, &budget),
      try list.text(list.object(archiver), &budget) == "NSKeyedArchiver",
      let objects = try list.value(of: "$objects", in: frame, &budget),
      case .array(let references) = try list.object(objects),
      let top = try list.value(of: "$top", in: frame, &budget),
      case .dictionary(let tops) = try list.object(top)
    else { throw PropertyListError(.wrongType) }
    self.list = list
    self.objects = references
    // iOS 10.0 and 10.1 wrote the constant's name instead of its value. Web archives have their own
    // key.
    var found = try list.value(of: "root", in: tops, &budget)
    if found == nil {
      found = try list.value(of: "NSKeyedArchiveRootObjectKey", in: tops, &budget)
    }
    if found == nil, tops.count == 1 { found = try list.element(1, of: tops) }
    guard let found else { throw PropertyListError(.wrongType) }
    root = try resolve(found, &budget)
  }

  /// Returns the object for a number of the property list: the target of a UID, or the value
  /// itself; `nil` for `$null`.
  func resolve(
    _ number: Int, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> Object? {
    try budget.spend(objects: 1)
    let object = try list.object(number)
    guard case .uid(let index) = object else { return object }
    guard index < objects.count else { throw PropertyListError(.outside) }
    let target = try list.object(list.element(index, of: objects))
    if index == 0 { return nil }
    if case .uid = target { throw PropertyListError(.wrongType) }
    if case .ascii(let text) = target, list.isText(text, "$null") { return nil }
    return target
  }

  /// Returns the value of an object for a key: a UID or a plain value.
  func member(
    _ key: String, of object: Object, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> Int? {
    guard case .dictionary(let references) = object else { return nil }
    return try list.value(of: key, in: references, &budget)
  }

  /// Returns the name of an object's class; plain values have class names, too.
  func className(
    of object: Object, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> String {
    switch object {
    case .ascii, .utf16: return "NSString"
    case .data: return "NSData"
    case .bool, .integer, .real: return "NSNumber"
    case .date: return "NSDate"
    case .dictionary:
      guard let place = try member("$class", of: object, &budget),
        let type = try resolve(place, &budget),
        let name = try member("$classname", of: type, &budget)
      else { return "?" }
      return try list.text(list.object(name), &budget) ?? "?"
    default: return "?"
    }
  }
}

extension BinaryPropertyList {
  /// Returns the number of the value for a key that is an ASCII string.
  fileprivate func value(
    of key: String, in references: References, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> Int? {
    try budget.spend(objects: references.count)
    for index in 0..<references.count {
      if case .ascii(let text) = try object(element(index, of: references)), isText(text, key) {
        return try element(references.count + index, of: references)
      }
    }
    return nil
  }
}
