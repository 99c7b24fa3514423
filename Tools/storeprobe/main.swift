// storeprobe: a store under test, driven from outside (Docs/Reliability.md). Changes are announced on
// standard output with one write each: "TRY P key value" before, "ACK P key value" after the store has
// promised. A value stands for body, user info and pin (Value.swift).
//
//   storeprobe [--full] DIR workload COUNT [SEED] [THREADS]   puts, streams, metadata, pins, removes
//   storeprobe [--full] DIR churn COUNT [SEED] [THREADS]      the same within narrow limits, with
//                                                 evictions, trims, removals of all, compactions
//   storeprobe [--full] DIR hammer SECONDS SEED   many processes on the same keys, each read checked
//   storeprobe DIR verify [ACKS]                  every promise kept, and a new write works
//   storeprobe DIR safe [ACKS]                    nothing read is wrong; what is lost is allowed
//   storeprobe DIR old [ACKS]                     as safe; what was promised earlier is allowed, too
//   storeprobe DIR scrub                          reads all; exit code 1 where something is wrong
//   storeprobe DIR repair                         exit code 0 where nothing is wrong any more
//
// In the environment, STOREPROBE_SETTLING is the seconds within which the files of an entry are
// written; without it they are written at once. STOREPROBE_BOOT names another run of the machine.
// STOREPROBE_PREFIX stands before each key of a workload. STOREPROBE_BUG plants bugs, separated by
// commas (PlantedBug.swift): the tools that look for failures have to find them.
//
// Exit codes: 0 all promises kept, 1 one broken, 2 usage, 3 the store cannot be opened, 4 some
// operation failed with an error.

var words = Array(CommandLine.arguments.dropFirst())
let isFull = words.first == "--full"
if isFull { words.removeFirst() }
guard words.count >= 2 else {
  stop(2, "usage: storeprobe [--full] DIR VERB ..., see main.swift")
}
let probe = Probe(path: words[0], isFull: isFull)
@MainActor func number(_ place: Int, _ missing: Int) -> Int {
  words.count > place ? Int(words[place]) ?? missing : missing
}
let acks = words.count > 2 ? words[2] : nil
switch words[1] {
case "workload", "churn":
  let plan: Plan = words[1] == "churn" ? churnChange : workloadChange
  Workload(probe.open(evicts: words[1] == "churn"), plan, seed: number(3, 1))
    .run(count: number(2, 20), threads: number(4, 1))
case "hammer": probe.hammer(seconds: number(2, 5), seed: number(3, 1))
case "verify": probe.verify(acks: acks, allowing: .nothing)
case "safe": probe.verify(acks: acks, allowing: .losses)
case "old": probe.verify(acks: acks, allowing: .age)
case "scrub": probe.scrub()
case "repair": probe.repair()
default: stop(2, "unknown verb \(words[1])")
}
