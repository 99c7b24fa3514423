// lifeprobe: a store as programs use it for weeks, on a simulated volume and clock, held against an
// oracle after each step (Docs/Reliability.md, "Life: a month of use"). Tools/life starts it.
//
//   lifeprobe SEED STEPS
//
// Prints a line: the seed, the kind of use, steps, evictions, crashes, findings. Each finding is a line
// on standard error. Exit codes: 0 nothing found, 1 something found, 2 usage.

guard CommandLine.arguments.count == 3, let seed = UInt64(CommandLine.arguments[1]),
  let steps = Int(CommandLine.arguments[2]), steps > 0
else {
  say("usage: lifeprobe SEED STEPS", to: .error)
  end(2)
}

let life = Life(seed: seed)
life.run(steps: steps)
say(life.summary, to: .output)
end(life.findings.count == 0 ? 0 : 1)
