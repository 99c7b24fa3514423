internal import CacheFormat

extension BinaryPropertyList {
  /// Returns the whole value below an object.
  ///
  /// - Throws: `.tooDeep` for a cycle, `.tooMuch` if the budget is used up, `.wrongType` for a UID,
  ///   which only an archive can resolve.
  /// - Complexity: O(objects visited), bounded by the budget.
  func value(
    _ number: Int, _ budget: inout PropertyListBudget, depth: Int = 0
  ) throws(PropertyListError) -> PropertyListValue {
    let object = try object(number)
    switch object {
    case .array(let references):
      try enter(references.count, &budget, depth)
      var values: [PropertyListValue] = []
      values.reserveCapacity(references.count)
      for index in 0..<references.count {
        values.append(try value(element(index, of: references), &budget, depth: depth + 1))
      }
      return .array(values)
    case .dictionary(let references):
      try enter(2 * references.count, &budget, depth)
      var pairs: [PropertyListPair] = []
      pairs.reserveCapacity(references.count)
      for index in 0..<references.count {
        let key = try value(element(index, of: references), &budget, depth: depth + 1)
        let item = try value(
          element(references.count + index, of: references), &budget, depth: depth + 1)
        pairs.append(PropertyListPair(key: key, value: item))
      }
      return .dictionary(pairs)
    default:
      return try scalar(object, &budget)
    }
  }

  /// Returns the value of an object that is not a container.
  func scalar(
    _ object: PropertyListObject, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> PropertyListValue {
    switch object {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .integer(let value): return .integer(value)
    case .real(let value): return .real(value)
    case .date(let seconds):
      guard let time = Timestamp(secondsSince2001: seconds) else {
        throw PropertyListError(.badObject)
      }
      return .date(time)
    case .data(let range):
      try budget.spend(bytes: range.count)
      return .data(Array(bytes[range]))
    case .ascii, .utf16: return .string(try text(object, &budget) ?? "")
    case .uid, .array, .dictionary: throw PropertyListError(.wrongType)
    }
  }

  /// Charges the references of a container to the budget. Throws if the container is nested too
  /// deep.
  func enter(
    _ references: Int, _ budget: inout PropertyListBudget, _ depth: Int
  ) throws(PropertyListError) {
    guard depth < PropertyListBudget.maximumDepth else { throw PropertyListError(.tooDeep) }
    try budget.spend(objects: references)
  }
}

extension PropertyListValue {
  /// Parses a whole binary property list.
  ///
  /// - Throws: ``PropertyListError``; never ends the process, whatever the bytes are.
  /// - Complexity: bounded by 16 MiB, 200,000 objects and a depth of 32.
  package init(binary bytes: [UInt8]) throws(PropertyListError) {
    let list = try BinaryPropertyList(bytes)
    var budget = PropertyListBudget()
    self = try list.value(list.root, &budget)
  }
}

extension Timestamp {
  /// Creates a time from Apple's reference date, 2001-01-01; returns `nil` for NaN.
  init?(secondsSince2001 seconds: Double) {
    guard !seconds.isNaN else { return nil }
    self.init(seconds: seconds + 978_307_200)
  }
}
