// A program that uses the package on Apple platforms. Tools/check-apple compiles it, as a module of
// another package; Tools/consumers builds and runs such programs where the package can be built.
import OfflineCacheKit

/// Uses the Foundation API with its own transport, which is URLSession.
func useDefault(_ folder: URL) async throws {
  var options = OfflineCacheOptions()
  options.fileProtection = .completeUntilFirstUserAuthentication
  options.isExcludedFromBackup = true
  options.credentialVault = KeychainCredentialVault { print($0) }
  options.network.pins = ["example.org": [try Pin("sha256/\(String(repeating: "A", count: 43))=")]]
  options.urlSession.allowsExpensiveNetworks = false
  let cache = try OfflineCache(capacity: 1 << 20, directory: folder, options: options)
  let (data, response) = try await cache.data(from: URL(string: "https://example.org/")!)
  print(data.count, response.metadata?.reason ?? "")
  cache.relinquish()
}

func useURLSession(_ folder: URL) async throws {
  var options = URLSessionOptions()
  options.waitsForConnectivity = true
  options.allowsConstrainedNetworks = false
  options.acceptsServer = { server in server.isTrusted && !server.certificates.isEmpty }
  let transport = try URLSessionTransport(NetworkSetup(proxy: .none), options: options)
  let cache = try OfflineCache(capacity: 1 << 20, directory: folder, transport: transport)
  let configuration = URLSessionConfiguration.ephemeral
  configuration.protocolClasses = [OfflineURLProtocol.self]
  configuration.urlCache = OfflineURLCache(cache)
}
