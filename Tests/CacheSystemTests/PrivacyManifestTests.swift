import Foundation
import Testing

/// The privacy manifest names what the sources use of Apple's list of APIs that require a reason.
struct PrivacyManifestTests {
  /// Apple's list: https://developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api
  private static let names = [
    "FileTimestamp":
      """
    creationDate modificationDate fileModificationDate contentModificationDateKey creationDateKey
    NSFileCreationDate NSFileModificationDate contentModificationDate
    getattrlist getattrlistbulk fgetattrlist getattrlistat stat fstat fstatat lstat
    """,
    "SystemBootTime": "systemUptime mach_absolute_time",
    "DiskSpace":
      """
    volumeAvailableCapacityKey volumeAvailableCapacityForImportantUsageKey
    volumeAvailableCapacityForOpportunisticUsageKey volumeTotalCapacityKey
    volumeAvailableCapacity volumeAvailableCapacityForImportantUsage
    volumeAvailableCapacityForOpportunisticUsage volumeTotalCapacity
    systemFreeSize systemSize NSFileSystemFreeSize NSFileSystemSize
    statfs statvfs fstatfs fstatvfs getattrlist fgetattrlist getattrlistat
    """,
    "ActiveKeyboards": "activeInputModes",
    "UserDefaults": "UserDefaults NSUserDefaults AppStorage",
  ]

  /// The categories by name; a function may be in two.
  private static let categories: [Substring: Set<String>] = {
    var found: [Substring: Set<String>] = [:]
    for (category, list) in names {
      for name in list.split(whereSeparator: \.isWhitespace) {
        found[name, default: []].insert(category)
      }
    }
    return found
  }()

  /// Returns the categories that a source uses. A function counts where it is called, another name
  /// wherever it stands; comments and includes do not count.
  private static func categories(in source: String) -> Set<String> {
    var found: Set<String> = []
    for line in source.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = String(Substring(line))
      guard line.utf8.count > 3, !line.hasPrefix("#include") else { continue }
      let code = line.components(separatedBy: "//")[0]
      for word in code.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
        guard let ofWord = categories[word] else { continue }
        let isFunction = word.allSatisfy { $0.isLowercase || $0 == "_" }
        let isMember = code[..<word.startIndex].last == "."
        let isCall = code[word.endIndex...].first { $0 != " " } == "("
        if !isFunction || (isCall && !isMember) { found.formUnion(ofWord) }
      }
    }
    return found
  }

  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")

  /// Returns the categories that each module uses.
  private static func categoriesOfModules() throws -> [String: Set<String>] {
    var found: [String: Set<String>] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: sources.path) {
      guard [".swift", ".c", ".h"].contains(where: path.hasSuffix) else { continue }
      let text = try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
      let categories = categories(in: text)
      if !categories.isEmpty {
        found[String(path.prefix { $0 != "/" }), default: []].formUnion(categories)
      }
    }
    return found
  }

  private static func manifest() throws -> [String: Any] {
    let file = sources.appendingPathComponent("CacheSystem/PrivacyInfo.xcprivacy")
    let data = try Data(contentsOf: file)
    // Safety: no pointer is passed.
    let list = try unsafe PropertyListSerialization.propertyList(from: data, format: nil)
    return try #require(list as? [String: Any])
  }

  @Test func `the manifest names exactly the categories that are used`() throws {
    let entries = try #require(
      try Self.manifest()["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    var declared: [String: [String]] = [:]
    for entry in entries {
      let type = try #require(entry["NSPrivacyAccessedAPIType"] as? String)
      declared[type] = entry["NSPrivacyAccessedAPITypeReasons"] as? [String]
    }
    let modules = try Self.categoriesOfModules()
    // CPlatform is linked into CacheSystem, which has the manifest. Another module needs its own.
    #expect(Set(modules.keys) == ["CPlatform", "CacheSystem"])
    let used = modules.values.reduce(into: Set()) { $0.formUnion($1) }
    #expect(Set(declared.keys) == Set(used.map { "NSPrivacyAccessedAPICategory\($0)" }))
    #expect(declared["NSPrivacyAccessedAPICategoryFileTimestamp"] == ["C617.1", "3B52.1"])
    #expect(declared["NSPrivacyAccessedAPICategoryDiskSpace"] == ["E174.1"])
  }

  @Test func `the manifest says that there is no tracking and no collection`() throws {
    let manifest = try Self.manifest()
    #expect(manifest["NSPrivacyTracking"] as? Bool == false)
    #expect((manifest["NSPrivacyTrackingDomains"] as? [Any])?.isEmpty == true)
    #expect((manifest["NSPrivacyCollectedDataTypes"] as? [Any])?.isEmpty == true)
  }

  @Test(arguments: [
    ("if (fstatvfs(descriptor, &found) < 0)", ["DiskSpace"]),
    ("let code = unsafe stat(path, &found)", ["FileTimestamp"]),
    ("ProcessInfo.processInfo.systemUptime", ["SystemBootTime"]),
    ("URLResourceValues().volumeAvailableCapacityForImportantUsage", ["DiskSpace"]),
    ("keys: [.contentModificationDateKey]", ["FileTimestamp"]),
    ("UserDefaults.standard", ["UserDefaults"]),
    ("// fstat(2) and stat(2)", []), ("#include <sys/stat.h>", []),
    ("try file.status()", []), ("files.stat(name)", []), ("cp_fstat(x)", []),
  ])
  func `a use is found, and nothing else`(code: String, categories: [String]) {
    #expect(Self.categories(in: code) == Set(categories))
  }
}
