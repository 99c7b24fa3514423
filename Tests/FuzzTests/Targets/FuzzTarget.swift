/// Names what is fed with mutated input, and with the files of Tests/FuzzCorpus: one folder for each.
enum FuzzTarget: String, CaseIterable {
  case cacheControl = "cache-control"
  case challenges
  case contentRange = "content-range"
  case dates
  case dictionary
  case fields
  case html
  case journal
  case json
  case metadata
  case propertyList = "property-list"
  case range
  case records
  case robots
  case segmentHeader = "segment-header"
  case storeDescription = "store-description"
  case style

  /// Reads one input; a property that does not hold ends the program.
  func run(_ bytes: [UInt8]) {
    switch self {
    case .cacheControl: fuzzCacheControl(bytes)
    case .challenges: fuzzChallenges(bytes)
    case .contentRange: fuzzContentRange(bytes)
    case .dates: fuzzDates(bytes)
    case .dictionary: fuzzDictionary(bytes)
    case .fields: fuzzFields(bytes)
    case .html: fuzzHTML(bytes)
    case .journal: fuzzJournal(bytes)
    case .json: fuzzJSON(bytes)
    case .metadata: fuzzMetadata(bytes)
    case .propertyList: fuzzPropertyList(bytes)
    case .range: fuzzRange(bytes)
    case .records: fuzzRecords(bytes)
    case .robots: fuzzRobots(bytes)
    case .segmentHeader: fuzzSegmentHeader(bytes)
    case .storeDescription: fuzzStoreDescription(bytes)
    case .style: fuzzStyle(bytes)
    }
  }
}

/// Ends the program with a message if a property does not hold.
func require(_ holds: Bool, _ property: String) {
  // A precondition would end the program without a message in a release build.
  if !holds { fatalError("property does not hold: \(property)") }
}

/// Takes the first byte of an input off: whether checksums are to be put right (`s`, sealed) or the
/// rest stands as it is (`r`, raw). The lowest bit decides.
func sealing(_ input: [UInt8]) -> (isSealed: Bool, rest: [UInt8]) {
  ((input.first ?? 0) & 1 == 1, Array(input.dropFirst()))
}

/// Calls `body` with some places of so many bytes, among them the first: few enough for long inputs,
/// all of them for short ones.
func forSomePlaces(of count: Int, _ body: (Int) -> Void) {
  for place in stride(from: 0, to: count, by: 1 + count / 64) { body(place) }
}

/// Returns the bytes with one bit turned over.
func flipped(_ bytes: [UInt8], at place: Int) -> [UInt8] {
  var copy = bytes
  copy[place] ^= 1 << UInt8(place % 8)
  return copy
}
