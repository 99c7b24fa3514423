import CLibrary

/// What the lines of a workload allow: for each key the last promise, or what was tried after it.
struct Promises {
  /// The words of the values that a key may have; nil for none.
  private(set) var allowed: [String: [String?]] = [:]
  /// All values that a key ever had or was about to have.
  private var tried: [String: Set<String>] = [:]
  /// The limits that may be set; empty where none were tried, so that nothing is ever evicted.
  private(set) var limits: [String] = []

  init(_ path: String?) {
    guard let path, let file = unsafe fopen(path, "r") else { return }
    defer { unsafe _ = fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    while unsafe getline(&line, &capacity, file) > 0, let text = unsafe line {
      let words = unsafe String(cString: text).split(whereSeparator: \.isWhitespace)
        .map(String.init)
      if words.count >= 3 { read(words, isPromise: words[0] == "ACK") }
    }
    unsafe free(line)
  }

  private mutating func read(_ words: [String], isPromise: Bool) {
    guard isPromise || words[0] == "TRY" else { return }
    let value = words.count > 3 ? words[3] : nil
    switch words[1] {
    case "P", "D": note(words[2], words[1] == "P" ? value : nil, isPromise)
    case "C": for key in allowed.keys { note(key, nil, isPromise) }
    case "L":
      if limits.isEmpty { limits = [ChurnLimits.none] }
      limits = isPromise ? [words[2]] : limits + [words[2]]
    default: break
    }
  }

  private mutating func note(_ key: String, _ value: String?, _ isPromise: Bool) {
    if let value { tried[key, default: []].insert(value) }
    if isPromise { allowed[key] = [value] } else { allowed[key, default: [nil]].append(value) }
  }

  /// Whether a key had this value at any time, or was about to.
  func wasTried(_ value: String, for key: String) -> Bool { tried[key]?.contains(value) ?? false }

  /// Whether a key may have this value: also none, where a limit may have evicted it.
  func allow(_ value: String?, for key: String) -> Bool {
    guard let words = allowed[key] else { return false }
    if words.contains(value) { return true }
    return value == nil && !limits.isEmpty
      && words.contains { $0.map { !Value.isPinned($0) } ?? true }
  }
}
