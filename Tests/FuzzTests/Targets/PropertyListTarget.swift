import CacheFormat
import HTTPSemantics

@testable import StoreMigration

/// Reads an input as a binary property list, and as an archive of a request and of a response in both
/// containers: sealed, as its objects, each `u16 bytes, object`, of which the first is the root; raw,
/// as it stands.
func fuzzPropertyList(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  let bytes = isSealed ? list(of: rest) : rest
  if let value = try? PropertyListValue(binary: bytes) { checkBounds(value) }
  if let archive = try? KeyedArchive(bytes), let root = archive.root {
    var budget = PropertyListBudget()
    if let value = try? archive.value(root, &budget) { checkBounds(value) }
    var other = PropertyListBudget()
    if let range = try? archive.data(root, &other) {
      require(range.lowerBound >= 8 && range.upperBound <= bytes.count, "data lies in the bytes")
    }
  }
  if let response = try? ArchivedResponse(keyedArchive: bytes) { check(response) }
  if let response = try? ArchivedResponse(cacheBlob: bytes) { check(response) }
  if let request = ArchivedRequest(keyedArchive: bytes) { check(request) }
  if let request = ArchivedRequest(cacheBlob: bytes) { check(request) }
}

/// Puts the offset table and the trailer behind the objects of an input.
private func list(of input: [UInt8]) -> [UInt8] {
  var bytes = Array("bplist00".utf8)
  var offsets: [Int] = []
  var rest = input[...]
  while rest.count >= 2 {
    let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
    offsets.append(bytes.count)
    bytes += rest.prefix(count)
    rest = rest.dropFirst(count)
  }
  let table = bytes.count
  for offset in offsets { bytes += [UInt8(offset >> 8 & 255), UInt8(offset & 255)] }
  bytes += [0, 0, 0, 0, 0, 0, 2, 1]
  for number in [offsets.count, 0, table] {
    bytes += [0, 0, 0, 0, 0, 0, UInt8(number >> 8 & 255), UInt8(number & 255)]
  }
  return bytes
}

/// Checks that a value has the limits that are promised, whatever refers to what.
private func checkBounds(_ value: PropertyListValue) {
  var objects = 0
  func visit(_ value: PropertyListValue, depth: Int) {
    objects += 1
    require(depth <= PropertyListBudget.maximumDepth, "values nest no deeper than allowed")
    switch value {
    case .array(let values): for value in values { visit(value, depth: depth + 1) }
    case .dictionary(let pairs):
      for pair in pairs {
        visit(pair.key, depth: depth + 1)
        visit(pair.value, depth: depth + 1)
      }
    default: return
    }
  }
  visit(value, depth: 0)
  require(objects <= 200_001, "there are no more objects than allowed")
}

private func check(_ response: ArchivedResponse) {
  require((100...599).contains(response.status), "a status is one of HTTP")
  require(response.fields.allSatisfy(\.isValid), "each field can be sent")
  require(!response.fields.contains("__hhaa__"), "the pseudo field is none")
}

private func check(_ request: ArchivedRequest) {
  require(HTTPField.isToken(request.method), "a method is a token")
  require(request.fields.allSatisfy(\.isValid), "each field can be sent")
}
