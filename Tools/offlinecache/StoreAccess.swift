import CLibrary
import CacheFormat
import CacheStore
import CommandLineTools

/// An error outside the store: with a file, the environment or a response.
struct ToolError: Error, CustomStringConvertible {
  /// The path, or another name for the thing that has the problem.
  var subject: String
  var problem: String
  var remedy: String

  var description: String { "\(subject): \(problem); \(remedy)" }
}

enum StoreUse {
  /// The command only reads it; a store that cannot be written is opened, too.
  case read
  /// The command has other sources and adds entries where it can: a missing store is created, and
  /// one that cannot be written is opened, too.
  case readOrCreate
  /// The command changes entries. The store must exist.
  case change
  /// The command adds entries. A missing store is created.
  case fill
  /// The same, in a command that has the option `--offline`, with which it only reads the store.
  case fillUnlessOffline
}

/// Opens the store that the command line names, calls `work`, and closes the store.
///
/// The store is closed even if `work` throws, so that access times reach the journal.
///
/// - Parameter lag: The time for which changes of other processes may be overlooked.
func withStore<Result>(
  _ invocation: Invocation, _ use: StoreUse, lag: Duration = .zero,
  _ work: (Store) async throws -> Result
) async throws -> Result {
  let store = try openStore(invocation, use, lag: lag)
  defer { store.close() }
  return try await work(store)
}

/// Opens the store that the command line names, calls `work`, and closes the store.
func withStore<Result>(
  _ invocation: Invocation, _ use: StoreUse, durability: Durability = .process,
  _ work: (Store) throws -> Result
) throws -> Result {
  let store = try openStore(invocation, use, durability: durability)
  defer { store.close() }
  return try work(store)
}

/// Opens the store. For reading, a store that cannot be written is opened read-only.
private func openStore(
  _ invocation: Invocation, _ use: StoreUse, durability: Durability = .process,
  lag: Duration = .zero
) throws -> Store {
  let path = try storePath(invocation)
  var options = Options()
  options.createsStore = [.fill, .fillUnlessOffline, .readOrCreate].contains(use)
  options.durability = durability
  options.lag = lag
  if options.createsStore { try checkStore(Argument(path)) }
  do throws(StoreError) {
    return try Store(at: path, options: options)
  } catch let refusal {
    // A pattern on the `catch` itself crashes the compiler of Swift 6.3.1.
    guard [.read, .readOrCreate, .fillUnlessOffline].contains(use),
      [.readOnly, .permissionDenied].contains(refusal.code)
    else { throw refusal }
    options.isReadOnly = true
    let store: Store
    do throws(StoreError) {
      store = try Store(at: path, options: options)
    } catch {
      // It is missing because it could not be created.
      var reason = error.code == .notFound || use == .fillUnlessOffline ? refusal : error
      if error.code == .notFound, reason.code == .readOnly {
        reason.remedy = "choose a store on another disk"
      }
      throw reason
    }
    guard use == .fillUnlessOffline else { return store }
    store.close()
    var advice = refusal
    advice.remedy = "add --offline to answer from it as it is, or choose another store"
    throw advice
  }
}

/// Returns the path of the store: the option, or the environment variable, or the user's cache
/// folder.
///
/// The user's cache folder follows the XDG Base Directory Specification, which says that relative
/// paths are ignored.
private func storePath(_ invocation: Invocation) throws -> String {
  let path: Argument
  if let given = invocation[Declarations.store] {
    path = given
  } else if let given = Argument.environment("OFFLINECACHE_STORE") {
    guard let named = ValueKind<Argument>.path.value(of: given) else {
      throw invocation.usageError(
        "OFFLINECACHE_STORE is '\(given)', which names no folder",
        remedy: "set it to a path with $HOME for ~, or with ./ before it")
    }
    path = named
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

extension Invocation {
  /// Returns the path of a file as text.
  ///
  /// - Throws: `UsageError` if it is not UTF-8.
  func text(of path: Argument) throws(UsageError) -> String {
    guard let text = path.text else {
      throw usageError("the path \(path) is not UTF-8", remedy: "choose another one")
    }
    return text
  }
}

/// The byte that separates the parts of a path.
let slash = UInt8(ascii: "/")

extension ByteString {
  init(_ argument: Argument) { self.init(bytes: argument.bytes) }
}
