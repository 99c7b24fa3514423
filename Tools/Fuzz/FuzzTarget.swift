import Glibc

/// Names what is fuzzed; all targets are one program, which `OFFLINECACHE_FUZZ_TARGET` divides, so
/// that the library is compiled once.
enum FuzzTarget: String {
  case cacheControl = "cache-control"
  case contentRange = "content-range"
  case dates
  case dictionary
  case fields
  case range

  /// Reads one input; a property that does not hold ends the program.
  func run(_ bytes: [UInt8]) {
    switch self {
    case .cacheControl: fuzzCacheControl(bytes)
    case .contentRange: fuzzContentRange(bytes)
    case .dates: fuzzDates(bytes)
    case .dictionary: fuzzDictionary(bytes)
    case .fields: fuzzFields(bytes)
    case .range: fuzzRange(bytes)
    }
  }

  static let chosen: FuzzTarget = {
    // Safety: the environment is not changed by anybody while the program runs.
    let name = unsafe getenv("OFFLINECACHE_FUZZ_TARGET").map { unsafe String(cString: $0) }
    guard let target = FuzzTarget(rawValue: name ?? "") else {
      fatalError("OFFLINECACHE_FUZZ_TARGET names no target; run Tools/Fuzz/run")
    }
    return target
  }()
}

/// Is called by libFuzzer with one input after the other.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  // Safety: libFuzzer gives `size` bytes, which stay for as long as the call lasts.
  let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
  FuzzTarget.chosen.run(bytes)
  return 0
}

/// Ends the program with a message if a property does not hold.
func require(_ holds: Bool, _ property: String) {
  // A precondition would end the program without a message in a release build.
  if !holds { fatalError("property does not hold: \(property)") }
}

/// Gives the time at which everything in these targets is received.
let received = HTTPDate(seconds: 1_800_000_000)

/// Makes a request for one and the same URL.
func request(_ fields: HTTPFields) -> HTTPRequest {
  guard let url = try? NormalizedURL("http://a/") else { fatalError("http://a/ is a URL") }
  return HTTPRequest(url: url, fields: fields)
}

/// Tells whether a number of seconds is within its range.
func isDeltaSeconds(_ seconds: Int64) -> Bool {
  (0...DeltaSeconds.maximum).contains(seconds)
}
