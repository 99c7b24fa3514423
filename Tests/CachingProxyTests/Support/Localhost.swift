import Foundation

/// The names that a proxy can listen at by name: none on a minimal machine, which has no /etc/hosts.
let localNames: [String] = {
  if !Host(name: "localhost").addresses.isEmpty { return ["localhost"] }
  print("CachingProxyTests: skips listening at localhost, a name that this machine does not know")
  return []
}()
