// storeprobe: a store under test, driven from outside. Changes are announced on standard output with
// one write each: "TRY P key digest" before, "ACK P key digest" after the store has promised.
//
//   storeprobe [--full] DIR workload COUNT [SEED] [THREADS]
//   storeprobe [--full] DIR hammer SECONDS SEED     many processes on the same keys, each read checked
//   storeprobe DIR verify [ACKS]                    every promise kept, and a new write works
//   storeprobe DIR safe [ACKS]                      nothing read is wrong; what is lost is allowed
//
// STOREPROBE_PREFIX in the environment stands before each key of a workload.
//
// Exit codes: 0 all promises kept, 1 one broken, 2 usage, 3 the store cannot be opened, 4 some
// operation failed with an error.

var words = Array(CommandLine.arguments.dropFirst())
let isFull = words.first == "--full"
if isFull { words.removeFirst() }
guard words.count >= 2 else {
  stop(2, "usage: storeprobe [--full] DIR workload|hammer|verify|safe ...")
}
let probe = Probe(path: words[0], isFull: isFull)
@MainActor func number(_ place: Int, _ missing: Int) -> Int {
  words.count > place ? Int(words[place]) ?? missing : missing
}
switch words[1] {
case "workload": probe.workload(count: number(2, 20), seed: number(3, 1), threads: number(4, 1))
case "hammer": probe.hammer(seconds: number(2, 5), seed: number(3, 1))
case "verify": probe.verify(acks: words.count > 2 ? words[2] : nil, mayLose: false)
case "safe": probe.verify(acks: words.count > 2 ? words[2] : nil, mayLose: true)
default: stop(2, "unknown verb \(words[1])")
}
