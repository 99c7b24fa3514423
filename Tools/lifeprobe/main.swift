// lifeprobe: a store as programs use it for weeks, on a simulated volume and clock, held against an
// oracle after each step (Docs/Reliability.md, "Life: a month of use"). Tools/life starts it.
//
//   lifeprobe SEED STEPS [SETTLING]
//
// SETTLING is the seconds within which the files of small entries are written; 0, the default: at once.
// Prints a line: the seed, the kind of use, SETTLING, steps, evictions, crashes, findings. Each finding is
// a line on standard error. Exit codes: 0 nothing found, 1 something found, 2 usage.

import CacheStore

let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
guard (2...3).contains(arguments.count), !arguments.contains(nil), let seed = arguments[0],
  let steps = arguments[1].flatMap({ Int(exactly: $0) }), steps > 0,
  let settling = Int(exactly: arguments.count > 2 ? arguments[2] ?? 0 : 0)
else {
  say("usage: lifeprobe SEED STEPS [SETTLING]", to: .error)
  end(2)
}

let life = Life(seed: seed, settling: settling > 0 ? .within(seconds: settling) : .atOnce)
life.run(steps: steps)
say(life.summary, to: .output)
end(life.findings.count == 0 ? 0 : 1)
