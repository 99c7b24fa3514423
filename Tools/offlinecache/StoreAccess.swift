import CacheFormat
import CacheStore
import CommandLineTools

/// Tells what went wrong outside the store: with a file, the environment or an answer.
struct ToolError: Error, CustomStringConvertible {
  /// The path, or whatever else the problem is with.
  var subject: String
  /// What is wrong.
  var problem: String
  /// What to do.
  var remedy: String

  var description: String { "\(terminalSafe(subject)): \(problem); \(remedy)" }
}

/// Says what a command is going to do with the store.
enum StoreUse {
  /// Read it; a store that cannot be written will do.
  case read
  /// Change what is there.
  case change
  /// Add to it; it is created when it is missing.
  case fill
}

/// Opens the store a command line means, passes it to the work, and closes it.
///
/// The store is closed however the work ends, so that accesses reach the journal.
///
/// - Parameter memoryBytes: the memory tier. A command that reads each body once has no use for it.
func withStore<Result>(
  _ invocation: Invocation, _ use: StoreUse, durability: Durability = .process,
  memoryBytes: Int = 0, _ work: (Store) async throws -> Result
) async throws -> Result {
  let store = try openStore(invocation, use, durability, memoryBytes)
  defer { store.close() }
  return try await work(store)
}

/// Opens the store a command line means, passes it to the work, and closes it.
func withStore<Result>(
  _ invocation: Invocation, _ use: StoreUse, durability: Durability = .process,
  _ work: (Store) throws -> Result
) throws -> Result {
  let store = try openStore(invocation, use, durability, 0)
  defer { store.close() }
  return try work(store)
}

/// Opens the store; for reading, one that may not be written is opened read-only.
private func openStore(
  _ invocation: Invocation, _ use: StoreUse, _ durability: Durability, _ memoryBytes: Int
) throws -> Store {
  let path = try storePath(invocation)
  var options = Options()
  options.createsStore = use == .fill
  options.durability = durability
  options.memoryBytes = memoryBytes
  do throws(StoreError) {
    return try Store(at: path, options: options)
  } catch {
    // A pattern on the catch itself crashes Swift 6.3.1.
    guard use == .read, [.readOnly, .permissionDenied].contains(error.code) else { throw error }
  }
  options.isReadOnly = true
  return try Store(at: path, options: options)
}

/// Returns the path of the store: the option, else the environment, else the user's cache folder.
///
/// The last two follow the XDG Base Directory Specification, which has relative paths ignored.
private func storePath(_ invocation: Invocation) throws -> String {
  let path: Argument
  if let given = invocation[Declarations.store] ?? Argument.environment("OFFLINECACHE_STORE") {
    path = given
  } else if let base = Argument.environment("XDG_CACHE_HOME"), base.bytes.first == slash {
    path = Argument(bytes: base.bytes + Array("/offlinecache".utf8))
  } else if let home = Argument.environment("HOME") {
    path = Argument(bytes: home.bytes + Array("/.cache/offlinecache".utf8))
  } else {
    throw invocation.usageError(
      "no store is named, and HOME is not set", remedy: "give --store PATH")
  }
  guard let text = path.text else {
    throw ToolError(
      subject: path.description, problem: "the path of the store is not UTF-8",
      remedy: "choose another folder")
  }
  return text
}

/// The byte that parts a path.
let slash = UInt8(ascii: "/")

extension ByteString {
  /// Takes an argument as a key.
  init(_ argument: Argument) { self.init(bytes: argument.bytes) }
}
