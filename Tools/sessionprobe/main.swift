// sessionprobe: OfflineURLProtocol under a real URLSession, in a process of its own: what goes wrong
// there is a crash or a hang (Docs/Foundation.md).
//
//   sessionprobe stress MODE COUNT [SEED]   COUNT requests with random cancels to a server on loopback;
//                                           MODE is handler, delegate, async or all
//   sessionprobe shared                     the same cache under URLSession.shared
//
// Exit codes: 0 each request had exactly one completion with the right bytes or the cancellation that
// was asked for, 1 not so, 2 usage, 3 it could not be set up. A hang ends with 1 after 60 seconds.

let words = Array(CommandLine.arguments.dropFirst())
guard let verb = words.first else {
  stop(2, "usage: sessionprobe stress|shared ..., see main.swift")
}
@MainActor func number(_ place: Int, _ missing: Int) -> Int {
  words.count > place ? Int(words[place]) ?? missing : missing
}
switch verb {
case "stress":
  let modes = Mode.named(words.count > 1 ? words[1] : "all")
  guard !modes.isEmpty else { stop(2, "MODE is handler, delegate, async or all") }
  let setting = Setting.make()
  for mode in modes {
    Stress(setting, mode, count: number(2, 20_000), seed: UInt64(number(3, 1))).run()
  }
  setting.remove()
case "shared": SharedSession(Setting.make()).run()
default: stop(2, "unknown verb \(verb)")
}
