import CLibrary
import CommandLineTools
import StoreChecking

enum Declarations {
  static let paths = Parameter("path", .path, .oneOrMore, help: "The folder of a store")
  static let repair = Option(
    "repair", ValueKind<RepairLevel>.choice,
    help: "Repair what loses nothing (safe), or also set damaged entries aside (all)")
  static let dryRun = Flag("dry-run", short: "n", help: "Show what --repair does; write nothing")
  static let quick = Flag("quick", help: "Read no bodies; the default without --repair")
  static let deep = Flag("deep", help: "Read and verify all bodies; the default with --repair")
  static let jobs = Option(
    "jobs", short: "j", .integer(in: 1...64),
    defaultText: "one for each processor, at most 8", help: "The number of threads that read")
  static let json = Flag("json", help: "Print JSON, one object a line")
  static let progress = Flag(
    "progress", help: "Show the progress even if standard error is not a terminal")
  static let noProgress = Flag("no-progress", help: "Never show the progress")
  static let resume = Flag("resume", help: "Continue an interrupted check without --repair")

  static let tool = Command(
    "cachefsck",
    summary: "Checks stores of OfflineCache, and repairs them",
    discussion: [
      "Without --repair nothing in the store is written. Other processes may use the store, also "
        + "during a repair.",
      "A quick check compares the journal with every directory and file, and takes seconds; it is "
        + "the default without --repair. A body with changed bytes and the right length is found by "
        + "a deep check only, which reads everything; it is the default with --repair.",
      "'--repair safe' loses nothing. It repairs the journal, links, leftovers, counts and modes, and "
        + "restores bodies of which there is another copy. '--repair all' also moves damaged "
        + "entries and foreign files to the folder quarantine of the store, with a note; it "
        + "deletes none of them.",
      "Results go to standard output, messages and progress to standard error. Docs/Fsck.md has the "
        + "names in the JSON.",
    ],
    parameters: [paths],
    options: [repair, dryRun, quick, deep, jobs, json, progress, noProgress, resume],
    examples: [
      .init("cachefsck ~/.cache/offlinecache", "Checks the store quickly"),
      .init("cachefsck --deep ~/.cache/offlinecache", "Also reads and verifies every body"),
      .init("cachefsck --repair safe ~/.cache/offlinecache", "Repairs what loses nothing"),
      .init(
        "cachefsck --repair all --dry-run ~/.cache/offlinecache",
        "Shows what a full repair would do"),
      .init(
        "cachefsck --deep --resume ~/.cache/offlinecache",
        "Continues an interrupted deep check"),
    ],
    exitStatuses: [
      (.success, "Nothing was wrong"),
      (.repaired, "Something was wrong, and all of it was repaired"),
      (.left, "Something is still wrong"),
      (.operationalError, "A store could not be checked, or not to the end"),
      (.wrongUsage, "The command line is wrong"),
      (
        .cancelled,
        "Interrupted (Ctrl-C, SIGTERM, SIGHUP, SIGQUIT); numbers of several PATHs are or-ed"
      ),
    ],
    version: "0.1.0")

  /// One thread for each processor; more than 8 rarely make reading faster.
  static var defaultJobs: Int { min(8, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
