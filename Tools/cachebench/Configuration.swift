import CacheStore
import CommandLineTools

/// What can be measured, in the order it runs.
enum Workload: String, CaseIterable, Sendable {
  case fill, hit
  case hitSettled = "hit-settled"
  case hitMemory = "hit-memory"
  case miss, concurrent, replace, burst, hammer, evict, duplicate, durable, open, large
  case decision, migrate

  var summary: String {
    switch self {
    case .fill: "store every entry once"
    case .hit: "read every entry once, in random order"
    case .hitSettled: "the same after all files were written and the log is empty"
    case .hitMemory: "read entries that the memory tier holds"
    case .miss: "look up keys that were never stored"
    case .concurrent: "hit and store from several threads"
    case .replace: "store other bodies under keys that exist"
    case .burst: "store 10,000 entries, pause until their files are written, and so on"
    case .hammer: "store beside a program that writes to the same disk"
    case .evict: "store into a full store, beside one that has room"
    case .duplicate: "store bodies that are equal to one of 16"
    case .durable: "store from 8 threads so that a power cut loses nothing"
    case .open: "open a clean store: seconds, and memory for each entry"
    case .large: "stream one body of 2 GiB in and out"
    case .decision: "decide on a request that hits, by the rules of HTTP"
    case .migrate: "move a cache of YYCache into a store"
    }
  }
}

struct Configuration: Sendable {
  var workloads: [Workload]
  /// The numbers of entries that were asked for; nil for what suits each workload.
  var entries: [Int]?
  /// The length of a body that was asked for; nil for what suits each workload.
  var body: Int?
  var seed: UInt64
  var isJSON: Bool
  var systems: [SystemName]
  var directory: String?
  var threads: [Int]
  var settling: Settling
  var lag: Duration

  /// The number of entries for workloads that take one number.
  var entryCount: Int { entries?.first ?? 100_000 }
  var bodyBytes: Int { body ?? 4096 }
}

extension Configuration {
  private static let entriesOption = Option(
    "entries", integers(upTo: 100_000_000), defaultText: "100000; open: 1000000",
    help: "How many entries; open takes several, the others the first")
  private static let bodyOption = Option<UInt64>(
    "body", .size(in: 0...(1 << 40)), defaultText: "4096; open: 100; large: 2GiB",
    help: "The length of a body")
  private static let seedOption = Option(
    "seed", .integer(), default: 1, help: "Decides every key, body and order")
  private static let systemsOption = Option(
    "systems", systemList, defaultText: "all", help: "What to compare: \(systemNames)")
  private static let directoryOption = Option(
    "directory", .path, defaultText: "/var/tmp",
    help: "Where to work, on a disk; the folder made there is removed at the end")
  private static let threadsOption = Option(
    "threads", integers(upTo: 256), default: [1, 2, 4],
    help: "How many threads, for concurrent")
  private static let settlingOption = Option(
    "settling", .integer(in: 0...86_400), default: 5,
    help: "Seconds within which the store writes the files of small entries; 0: at once")
  private static let lagOption = Option(
    "lag", .integer(in: 0...1_000), default: 0,
    help: "Milliseconds for which the store may overlook changes of other processes")
  private static let jsonFlag = Flag("json", help: "Print one JSON object a line, and no table")
  private static let workParameter = Parameter(
    "workload", .choice(Workload.allCases.map(\.rawValue) + ["all"]), .oneOrMore,
    help: "What to measure")

  static let command = Command(
    "cachebench", summary: "Measures the store beside the bare system, SQLite and URLCache",
    discussion: [
      """
      All systems get the same keys and bodies in the same run, in small turns. Ratios are made \
      of the medians over turns of the mean time of an operation. Run a release build on a disk.
      """,
      Workload.allCases.map { "\($0.rawValue): \($0.summary)" }.joined(separator: "; ") + ".",
    ],
    parameters: [workParameter],
    options: [
      entriesOption, bodyOption, seedOption, systemsOption, threadsOption, settlingOption,
      lagOption, directoryOption, jsonFlag,
    ],
    examples: [
      .init("cachebench all", "everything, at the sizes of the documented figures"),
      .init("cachebench fill hit miss --entries 20000", "the basic steps, in a minute"),
      .init("cachebench hit --systems store,floor --json", "for a script"),
    ],
    exitStatuses: [
      (.success, "measured"),
      (.failure, "a system failed, or answered with wrong bytes"),
      (.usage, "the command line is wrong"),
      (.signal(2), "interrupted; the folder was removed"),
    ],
    version: "1")

  init(_ invocation: Invocation) {
    let names = invocation[Self.workParameter]
    workloads = Workload.allCases.filter { names.contains($0.rawValue) || names.contains("all") }
    entries = invocation[Self.entriesOption]
    body = invocation[Self.bodyOption].map { Int($0) }
    seed = UInt64(invocation.value(of: Self.seedOption))
    isJSON = invocation[Self.jsonFlag]
    systems = invocation[Self.systemsOption] ?? SystemName.allCases
    directory = invocation[Self.directoryOption]?.text
    threads = invocation.value(of: Self.threadsOption)
    let seconds = Int(invocation.value(of: Self.settlingOption))
    lag = .milliseconds(Int(invocation.value(of: Self.lagOption)))
    settling = seconds > 0 ? .within(seconds: seconds) : .atOnce
  }

  private static let systemNames = SystemName.allCases.map(\.rawValue).joined(separator: ",")

  private static let systemList = ValueKind<[SystemName]>(
    "LIST", expected: "one or more of \(systemNames), joined by commas"
  ) { text in
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    let systems = words.compactMap { SystemName(rawValue: String($0)) }
    if systems.count != words.count { return nil }
    return SystemName.allCases.filter { systems.contains($0) }
  }

  private static func integers(upTo limit: Int) -> ValueKind<[Int]> {
    ValueKind(
      "N,…", expected: "numbers from 1 to \(limit), joined by commas",
      describe: { $0.map { String($0) }.joined(separator: ",") }
    ) { text in
      let words = text.split(separator: ",", omittingEmptySubsequences: false)
      let numbers = words.compactMap { Int($0) }.filter { $0 > 0 && $0 <= limit }
      return numbers.count == words.count ? numbers : nil
    }
  }
}
