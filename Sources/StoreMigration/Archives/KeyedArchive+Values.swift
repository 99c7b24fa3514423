internal import CacheFormat

extension KeyedArchive {
  /// Returns the plain value of an object of one of Foundation's value classes.
  ///
  /// - Throws: `.wrongType` for any other class.
  /// - Complexity: O(objects visited), bounded by the budget.
  func value(
    _ number: Int, _ budget: inout PropertyListBudget, depth: Int = 0
  ) throws(PropertyListError) -> PropertyListValue {
    guard let object = try resolve(number, &budget) else { return .null }
    return try value(object, &budget, depth: depth)
  }

  func value(
    _ object: Object, _ budget: inout PropertyListBudget, depth: Int = 0
  ) throws(PropertyListError) -> PropertyListValue {
    guard depth < PropertyListBudget.maximumDepth else { throw PropertyListError(.tooDeep) }
    guard case .dictionary = object else { return try list.scalar(object, &budget) }
    switch try className(of: object, &budget) {
    case "NSDictionary", "NSMutableDictionary":
      return try dictionary(object, &budget, depth)
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet":
      return .array(try elements("NS.objects", of: object, &budget, depth))
    case "NSString", "NSMutableString":
      return .string(try string(object, &budget))
    case "NSData", "NSMutableData":
      guard let range = try data(object, &budget) else { throw PropertyListError(.wrongType) }
      try budget.spend(bytes: range.count)
      return .data(Array(list.bytes[range]))
    case "NSDate":
      guard let place = try member("NS.time", of: object, &budget),
        let seconds = try value(place, &budget, depth: depth + 1).number,
        let time = Timestamp(secondsSince2001: seconds)
      else { throw PropertyListError(.wrongType) }
      return .date(time)
    case "NSURL": return .string(try url(object, &budget, depth))
    case "NSNull": return .null
    default: throw PropertyListError(.wrongType)
    }
  }

  /// Returns the range of the bytes of an NSData in the archive, or `nil` for other objects.
  func data(
    _ object: Object, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> Range<Int>? {
    if case .data(let range) = object { return range }
    guard let place = try member("NS.data", of: object, &budget),
      case .data(let range)? = try resolve(place, &budget)
    else { return nil }
    return range
  }

  private func dictionary(
    _ object: Object, _ budget: inout PropertyListBudget, _ depth: Int
  ) throws(PropertyListError) -> PropertyListValue {
    let keys = try elements("NS.keys", of: object, &budget, depth)
    let values = try elements("NS.objects", of: object, &budget, depth)
    guard keys.count == values.count else { throw PropertyListError(.wrongType) }
    return .dictionary(zip(keys, values).map { PropertyListPair(key: $0, value: $1) })
  }

  private func elements(
    _ key: String, of object: Object, _ budget: inout PropertyListBudget, _ depth: Int
  ) throws(PropertyListError) -> [PropertyListValue] {
    guard let place = try member(key, of: object, &budget),
      case .array(let references) = try list.object(place)
    else { throw PropertyListError(.wrongType) }
    try list.enter(references.count, &budget, depth)
    var values: [PropertyListValue] = []
    values.reserveCapacity(references.count)
    for index in 0..<references.count {
      values.append(try value(list.element(index, of: references), &budget, depth: depth + 1))
    }
    return values
  }

  private func string(
    _ object: Object, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> String {
    if let place = try member("NS.string", of: object, &budget),
      let target = try resolve(place, &budget), let text = try list.text(target, &budget)
    {
      return text
    }
    guard let place = try member("NS.bytes", of: object, &budget),
      case .data(let range)? = try resolve(place, &budget)
    else { throw PropertyListError(.wrongType) }
    try budget.spend(bytes: range.count)
    return String(decoding: list.bytes[range], as: UTF8.self)
  }

  /// Returns the text of a URL. A relative URL is resolved against its base.
  private func url(
    _ object: Object, _ budget: inout PropertyListBudget, _ depth: Int
  ) throws(PropertyListError) -> String {
    guard let place = try member("NS.relative", of: object, &budget),
      let relative = try value(place, &budget, depth: depth + 1).string
    else { throw PropertyListError(.wrongType) }
    guard let base = try member("NS.base", of: object, &budget),
      let base = try value(base, &budget, depth: depth + 1).string
    else { return relative }
    return SourceURL.resolve(relative, against: base)
  }
}
