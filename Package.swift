// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every Swift target: language mode 6, strict memory safety, no warnings.
let house: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

/// `OFFLINECACHE_INVARIANTS=1` has the store look for contradictions in its index after each
/// change.
let invariants: [SwiftSetting] =
  Context.environment["OFFLINECACHE_INVARIANTS"] == nil ? [] : [.define("CHECKS_INVARIANTS")]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: house)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Tools/\(name)", swiftSettings: house)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies + ["TestSupport"], swiftSettings: house)
}

func systemLibrary(_ name: String, _ pkgConfig: String, _ apt: String, _ brew: String) -> Target {
  .systemLibrary(
    name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

/// The platforms whose own libraries take the place of libcurl and OpenSSL.
let apple: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

/// Apple's privacy manifest of CacheSystem. It is a resource on Macs only, because resources add a
/// generated file to the module, which imports Foundation. `exclude` is needed, too: SwiftPM 6.4
/// adds that file for a manifest that it finds undeclared (swiftlang/swift-build#1777).
let privacyManifest = "PrivacyInfo.xcprivacy"
#if os(macOS)
  let (unusedFiles, privacyResources): ([String], [Resource]) = ([], [.copy(privacyManifest)])
#else
  let (unusedFiles, privacyResources): ([String], [Resource]) = ([privacyManifest], [])
#endif

let package = Package(
  name: "OfflineCache",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CacheStore", targets: ["CacheStore", "CacheFormat", "LocalizedStoreErrors"]),
    .library(name: "StoreChecking", targets: ["StoreChecking"]),
    .library(name: "StoreMigration", targets: ["StoreMigration"]),
    .library(
      name: "CacheClient",
      targets: [
        "CacheClient", "RemoteTier", "HTTPDownloads", "HTTPAuthentication", "HTTPUploads",
        "HTTPTransports", "HTTPSemantics", "LocalizedClientErrors",
      ]),
    .library(name: "CurlHTTP", targets: ["CurlHTTP"]),
    .library(name: "OfflineCache", targets: ["OfflineCacheKit", "Reachability"]),
    .executable(name: "offlinecache", targets: ["offlinecache"]),
    .executable(name: "cachefsck", targets: ["cachefsck"]),
    .executable(name: "cachemigrate", targets: ["cachemigrate"]),
    .executable(name: "cachebench", targets: ["cachebench"]),
  ],
  targets: [
    .target(name: "CXXHash"),
    // The system libraries, each imported by one Swift module.
    .target(name: "CPlatform"),
    library("CLibrary", []),
    systemLibrary("CCurlLibrary", "libcurl", "libcurl4-openssl-dev", "curl"),
    .target(
      name: "CCurl", dependencies: ["CCurlLibrary"],
      linkerSettings: [
        .linkedLibrary("ssl", .when(platforms: [.linux])),
        .linkedLibrary("crypto", .when(platforms: [.linux])),
      ]),
    systemLibrary("CSQLite", "sqlite3", "libsqlite3-dev", "sqlite"),
    systemLibrary("CZlib", "zlib", "zlib1g-dev", "zlib"),
    systemLibrary("CCryptoLibrary", "libcrypto", "libssl-dev", "openssl"),
    systemLibrary("CXML", "libxml-2.0", "libxml2-dev", "libxml2"),
    systemLibrary("CMicrohttpdLibrary", "libmicrohttpd", "libmicrohttpd-dev", "libmicrohttpd"),
    systemLibrary("CGnuTLSLibrary", "gnutls", "libgnutls28-dev", "gnutls"),
    .target(
      name: "CMicrohttpd", dependencies: ["CMicrohttpdLibrary", "CGnuTLSLibrary"],
      linkerSettings: [.linkedLibrary("gnutls")]),

    // The store.
    .target(
      name: "CacheSystem", dependencies: ["CPlatform", "CLibrary"], exclude: unusedFiles,
      resources: privacyResources, swiftSettings: house),
    library("CacheFormat", ["CXXHash"]),
    .target(
      name: "CacheStore", dependencies: ["CacheSystem", "CacheFormat", "CLibrary"],
      swiftSettings: house + invariants),
    library("LocalizedStoreErrors", ["CacheStore", "CacheSystem"]),
    library("StoreChecking", ["CacheStore", "CacheSystem", "CacheFormat"]),

    // HTTP.
    library("HTTPSemantics", ["CacheFormat"]),
    library("HTTPTransports", ["HTTPSemantics", "CacheFormat", "CacheSystem", "CLibrary"]),
    library(
      "CurlHTTP",
      [
        "HTTPTransports", "HTTPSemantics", "MessageDigests", "CacheFormat", "CacheSystem", "CCurl",
        "CCurlLibrary", "CLibrary",
      ]),
    // On Linux only its tests use it.
    library(
      "URLSessionHTTP",
      ["HTTPTransports", "HTTPSemantics", "MessageDigests", "CacheFormat", "CacheSystem"]),
    library("ContentCoding", ["CZlib"]),
    library(
      "MessageDigests",
      [.target(name: "CCryptoLibrary", condition: .when(platforms: [.linux]))]),
    library(
      "HTTPCaching",
      ["HTTPSemantics", "MessageDigests", "CacheStore", "CacheFormat", "CacheSystem", "CLibrary"]),
    library(
      "HTTPAuthentication",
      ["HTTPTransports", "HTTPSemantics", "MessageDigests", "CacheFormat", "CacheSystem"]),
    library(
      "HTTPDownloads",
      [
        "HTTPAuthentication", "HTTPTransports", "HTTPSemantics", "ContentCoding",
        "MessageDigests", "CacheFormat", "CacheSystem",
      ]),
    library(
      "RemoteTier",
      ["HTTPTransports", "HTTPSemantics", "MessageDigests", "CacheFormat", "CacheSystem"]),
    library("HTTPUploads", ["HTTPTransports", "HTTPSemantics", "CacheFormat", "CacheSystem"]),
    library(
      "CacheClient",
      [
        "HTTPDownloads", "HTTPAuthentication", "HTTPUploads", "HTTPCaching", "RemoteTier",
        "HTTPTransports", "HTTPSemantics", "ContentCoding", "MessageDigests", "CacheStore",
        "CacheFormat", "CacheSystem",
      ]),
    library(
      "LocalizedClientErrors",
      [
        "LocalizedStoreErrors", "CacheClient", "HTTPDownloads", "HTTPAuthentication", "HTTPUploads",
        "HTTPCaching", "RemoteTier", "HTTPTransports", "HTTPSemantics", "ContentCoding",
      ]),
    library(
      "CachingProxy",
      [
        "CacheClient", "HTTPCaching", "RemoteTier", "HTTPTransports", "HTTPSemantics",
        "CacheStore", "CacheFormat", "CacheSystem", "CMicrohttpd", "CMicrohttpdLibrary", "CLibrary",
      ]),

    // Sites as a whole.
    library("SiteParsing", ["HTTPSemantics", "CXML"]),
    library(
      "SiteCrawling",
      [
        "SiteParsing", "CacheClient", "HTTPCaching", "HTTPTransports", "HTTPSemantics",
        "CacheStore", "CacheFormat", "CacheSystem",
      ]),

    // The Foundation face.
    .target(
      name: "CLoadingQueue",
      linkerSettings: [.linkedLibrary("dispatch", .when(platforms: [.linux]))]),
    library(
      "OfflineCacheKit",
      [
        "CacheClient", "HTTPDownloads", "HTTPAuthentication", "HTTPUploads", "HTTPCaching",
        .target(name: "CurlHTTP", condition: .when(platforms: [.linux])),
        .target(name: "URLSessionHTTP", condition: .when(platforms: apple)),
        "RemoteTier", "HTTPTransports", "HTTPSemantics", "Reachability", "CacheStore",
        "CacheFormat", "CacheSystem", "CLibrary", "CLoadingQueue", "MessageDigests",
        "LocalizedClientErrors", "LocalizedStoreErrors",
      ]),

    // The network: is there one?
    .target(name: "CReachability"),
    library("Reachability", ["CReachability", "CacheSystem", "CLibrary"]),

    // Moving in.
    library(
      "StoreMigration",
      ["HTTPCaching", "HTTPSemantics", "CacheStore", "CacheFormat", "CacheSystem", "CSQLite"]),

    // The tools.
    library("CommandLineTools", ["CacheFormat", "CacheSystem", "CLibrary"]),
    tool(
      "offlinecache",
      [
        "CommandLineTools", "CachingProxy", "SiteCrawling", "CacheClient", "HTTPCaching",
        "RemoteTier", "CurlHTTP", "Reachability", "HTTPTransports", "HTTPSemantics",
        "MessageDigests", "CacheStore",
        "CacheFormat",
        "CacheSystem", "CLibrary",
      ]),
    tool(
      "cachefsck",
      ["CommandLineTools", "StoreChecking", "CacheFormat", "CacheSystem", "CLibrary"]),
    tool(
      "cachemigrate",
      [
        "CommandLineTools", "StoreMigration", "CacheStore", "CacheFormat",
        "CacheSystem",
      ]),
    tool(
      "cachebench",
      [
        "CommandLineTools", "StoreMigration", "HTTPCaching", "HTTPSemantics", "CacheStore",
        "CacheFormat", "CacheSystem", "CSQLite", "CLibrary", "TestSupport",
      ]),
    tool(
      "storeprobe",
      [
        "StoreChecking", "CacheStore", "CacheFormat", "CacheSystem", "CLibrary", "TestSupport",
      ]),

    // A month of use on a simulated volume.
    tool(
      "lifeprobe",
      [
        "SimulatedFiles", "StoreChecking", "HTTPCaching", "HTTPSemantics", "CacheStore",
        "CacheFormat", "CacheSystem", "TestSupport",
      ]),

    // The example of the README.
    tool("reader", ["OfflineCacheKit"]),
    // The model of the example app, without its views.
    .target(
      name: "ReaderModel", dependencies: ["OfflineCacheKit"],
      path: "Tools/Examples/Reader/ReaderModel", swiftSettings: house),
    tool("sessionprobe", ["OfflineCacheKit", "CacheStore", "LoopbackOrigin", "TestSupport"]),

    // A server that answers as a test says.
    .target(
      name: "LoopbackOrigin", dependencies: ["TestSupport"], path: "Tests/LoopbackOrigin",
      swiftSettings: house),
    // nginx, and the certificates for it.
    .target(
      name: "NginxOrigin", dependencies: ["TestSupport", "ToolTesting"], path: "Tests/NginxOrigin",
      swiftSettings: house),
    // Servers and a clock in memory, for the tests of what sends requests.
    .target(
      name: "ClientTesting",
      dependencies: [
        "HTTPDownloads", "HTTPAuthentication", "HTTPTransports", "HTTPSemantics", "MessageDigests",
        "CacheFormat", "CacheSystem", "TestSupport",
      ],
      path: "Tests/ClientTesting", swiftSettings: house),
    // Files in memory that fail, end and lose power, and real files whose calls fail, for tests.
    .target(
      name: "SimulatedFiles", dependencies: ["TestSupport", "CacheSystem", "CLibrary"],
      path: "Tests/SimulatedFiles",
      swiftSettings: house),
    // What the tests share.
    .target(
      name: "TestSupport", dependencies: ["CacheSystem", "CLibrary"], path: "Tests/TestSupport",
      swiftSettings: house),

    tests("CacheSystem", ["CacheSystem", "SimulatedFiles"]),
    tests("SimulatedFiles", ["SimulatedFiles", "CacheSystem"]),
    tests("CacheFormat", ["CacheFormat"]),
    tests(
      "CacheStore",
      [
        "CacheStore", "CacheFormat", "CacheSystem", "SimulatedFiles", "ToolTesting", "storeprobe",
        "CLibrary",
      ]),
    tests(
      "StoreChecking",
      ["StoreChecking", "CacheStore", "CacheFormat", "CacheSystem", "SimulatedFiles", "CLibrary"]),
    tests(
      "StoreMigration",
      [
        "StoreMigration", "SimulatedFiles", "HTTPCaching", "HTTPSemantics", "CacheStore",
        "CacheFormat", "CacheSystem", "ToolTesting",
      ]),
    tests(
      "LocalizedErrors",
      [
        "LocalizedClientErrors", "LocalizedStoreErrors", "CacheClient", "RemoteTier",
        "HTTPSemantics", "HTTPTransports", "CacheStore",
      ]),
    tests("HTTPSemantics", ["HTTPSemantics", "CacheFormat"]),
    // Both transports, for the tests that both can pass.
    .target(
      name: "TransportTesting",
      dependencies: [
        "CurlHTTP", "URLSessionHTTP", "HTTPTransports", "HTTPSemantics", "LoopbackOrigin",
      ],
      path: "Tests/TransportTesting", swiftSettings: house),
    tests(
      "HTTPTransports",
      [
        "TransportTesting", "CurlHTTP", "HTTPTransports", "HTTPSemantics", "LoopbackOrigin",
        "CLibrary",
      ]),
    tests(
      "CurlHTTP",
      [
        "TransportTesting", "CurlHTTP", "HTTPTransports", "HTTPSemantics", "MessageDigests",
        "CacheSystem", "LoopbackOrigin", "NginxOrigin", "ToolTesting", "CLibrary",
      ]),
    tests(
      "URLSessionHTTP",
      [
        "TransportTesting", "URLSessionHTTP", "CurlHTTP", "HTTPTransports", "HTTPSemantics",
        "LoopbackOrigin", "NginxOrigin",
      ]),
    tests("ContentCoding", ["ContentCoding", "CZlib"]),
    tests("MessageDigests", ["MessageDigests"]),
    tests(
      "HTTPCaching",
      [
        "HTTPCaching", "HTTPSemantics", "MessageDigests", "CacheStore", "CacheFormat",
        "CacheSystem",
      ]),
    tests(
      "HTTPAuthentication",
      [
        "HTTPAuthentication", "HTTPTransports", "HTTPSemantics", "MessageDigests", "CacheFormat",
        "CacheSystem", "ClientTesting", "SimulatedFiles",
      ]),
    tests(
      "HTTPDownloads",
      [
        "HTTPDownloads", "HTTPAuthentication", "HTTPTransports", "HTTPSemantics", "ContentCoding",
        "MessageDigests", "CacheFormat", "CacheSystem", "ClientTesting", "SimulatedFiles",
      ]),
    tests(
      "RemoteTier",
      [
        "RemoteTier", "CurlHTTP", "HTTPTransports", "HTTPSemantics", "MessageDigests",
        "CacheFormat", "CacheSystem", "ClientTesting", "LoopbackOrigin", "NginxOrigin",
        "ToolTesting",
      ]),
    tests("HTTPUploads", ["HTTPUploads", "HTTPTransports", "CacheSystem"]),
    tests(
      "CacheClient",
      [
        "CacheClient", "HTTPDownloads", "HTTPAuthentication", "HTTPCaching", "RemoteTier",
        "HTTPTransports", "HTTPSemantics", "ContentCoding", "MessageDigests", "CacheStore",
        "CacheFormat", "CacheSystem", "ClientTesting", "SimulatedFiles", "CurlHTTP",
        "LoopbackOrigin", "NginxOrigin",
      ]),
    tests(
      "OfflineCacheKit",
      [
        "OfflineCacheKit", "LoopbackOrigin", "NginxOrigin", "ToolTesting", "sessionprobe",
        "CacheClient", "CurlHTTP", "HTTPCaching", "HTTPTransports", "HTTPSemantics",
        "MessageDigests", "SimulatedFiles",
        "Reachability", "CacheStore", "CacheFormat", "CacheSystem",
      ]),
    tests(
      "Conformance",
      [
        "CacheClient", "HTTPCaching", "RemoteTier", "HTTPTransports", "HTTPSemantics",
        "CacheStore", "CacheFormat", "CacheSystem", "ClientTesting",
      ]),
    tests(
      "CachingProxy",
      [
        "CachingProxy", "CacheClient", "HTTPCaching", "RemoteTier", "CurlHTTP", "HTTPTransports",
        "HTTPSemantics", "CacheStore", "CacheFormat", "CacheSystem", "ClientTesting",
        "LoopbackOrigin", "ToolTesting", "CLibrary", "CGnuTLSLibrary",
      ]),
    tests("SiteParsing", ["SiteParsing", "HTTPSemantics"]),
    tests(
      "SiteCrawling",
      [
        "SiteCrawling", "CacheClient", "HTTPTransports", "HTTPSemantics", "CacheStore",
        "CacheSystem", "ClientTesting",
      ]),
    tests("Reachability", ["Reachability", "CacheSystem", "CLibrary"]),
    tests("ReaderModel", ["ReaderModel", "OfflineCacheKit", "LoopbackOrigin"]),
    tests("CommandLineTools", ["CommandLineTools", "CLibrary"]),
    .target(
      name: "ToolTesting", dependencies: ["TestSupport", "CLibrary"], path: "Tests/ToolTesting",
      swiftSettings: house),
    tests(
      "OfflinecacheTool",
      [
        "ToolTesting", "CommandLineTools", "LoopbackOrigin", "NginxOrigin", "MessageDigests",
        "offlinecache", "cachefsck", "cachemigrate", "reader",
        "HTTPSemantics", "CacheFormat", "CacheSystem", "CLibrary",
      ]),
    tests(
      "CachefsckTool",
      [
        "ToolTesting", "cachefsck", "CommandLineTools", "StoreChecking",
        "CacheStore", "CacheFormat", "CacheSystem", "CLibrary",
      ]),
    tests(
      "CachemigrateTool",
      [
        "ToolTesting", "cachemigrate", "StoreMigration", "HTTPCaching", "HTTPSemantics",
        "CacheStore", "CacheFormat", "CacheSystem", "CLibrary",
      ]),
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "StoreMigration", "CacheStore", "CacheFormat", "CacheSystem", "SiteParsing",
        "HTTPSemantics", "CLibrary",
      ],
      swiftSettings: house),
  ]
)

#if os(Linux)
  // The example for web views is built and tested with declarations in place of Apple's WebKit.
  package.targets += [
    .target(name: "WebKit", path: "Tools/apple-stubs/WebKit", swiftSettings: house),
    .target(
      name: "WebPages", dependencies: ["OfflineCacheKit", "WebKit"],
      path: "Tools/Examples/WebPages", swiftSettings: house),
    tests("WebPages", ["WebPages", "OfflineCacheKit", "WebKit", "LoopbackOrigin"]),
  ]
#endif

/// `OFFLINECACHE_TARGETS=CacheStoreTests,FuzzTests` leaves these targets and all that they need, so
/// that a sanitizer builds no more than it runs (Tools/sanitize).
func needed(by names: [String], of targets: [Target]) -> [Target] {
  var found: Set<String> = []
  var waiting = names
  while let name = waiting.popLast() {
    guard found.insert(name).inserted else { continue }
    for dependency in targets.first(where: { $0.name == name })?.dependencies ?? [] {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): waiting.append(name)
      default: break
      }
    }
  }
  return targets.filter { found.contains($0.name) }
}

if let names = Context.environment["OFFLINECACHE_TARGETS"]?.split(separator: ",").map(String.init) {
  package.targets = needed(by: names, of: package.targets)
  package.products = []
}

/// With `OFFLINECACHE_OPTIMIZED` set (Tools/test), a debug build optimizes the engine and the
/// second tier: the tests that crash a store thousands of times then take a quarter of the time,
/// those with faults in each transfer a twentieth. Assertions still trap.
if Context.environment["OFFLINECACHE_OPTIMIZED"] != nil {
  let optimized: Set = [
    "CacheSystem", "CacheFormat", "CacheStore", "StoreChecking", "SimulatedFiles", "TestSupport",
    "storeprobe", "lifeprobe", "HTTPSemantics", "HTTPTransports", "MessageDigests", "RemoteTier",
    "ClientTesting",
  ]
  for target in package.targets where optimized.contains(target.name) {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [
        .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
      ]
  }
}
