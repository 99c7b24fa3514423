import CLibrary
import CacheSystem
import CachingProxy
import CommandLineTools

/// A profile of a browser in a folder that is its HOME.
struct BrowserProfile {
  /// The folder that is the HOME of the browser; it must be there.
  let home: String
  /// The path of the certificate of the authority that is trusted.
  let certificate: String

  var path: String { "\(home)/profile" }

  /// Makes a profile for Chromium, which takes what it trusts from the user's HOME, not from the
  /// profile.
  func makeForChromium() throws {
    for folder in ["\(home)/.pki", "\(home)/.pki/nssdb", path] { try makeFolder(folder) }
    try trust("\(home)/.pki/nssdb")
  }

  /// Makes a profile for Firefox, which has all settings.
  ///
  /// - Parameter proxy: The address of the proxy.
  func makeForFirefox(_ proxy: ListenAddress) throws {
    try makeFolder(path)
    try trust(path)
    let file = try OutputFile(Argument("\(path)/user.js"))
    for (name, value) in settings(proxy) {
      try file.write(Array("user_pref(\"\(name)\", \(value));\n".utf8))
    }
    try file.finish()
  }

  private func settings(_ proxy: ListenAddress) -> [(name: String, value: String)] {
    var settings = [
      ("network.proxy.type", "1"), ("network.proxy.no_proxies_on", "\"\""),
      // Without this, it would go past the proxy to servers on this machine.
      ("network.proxy.allow_hijacking_localhost", "true"),
      ("browser.region.network.url", "\"\""),
    ]
    for kind in ["http", "ssl"] {
      settings.append(("network.proxy.\(kind)", "\"\(proxy.host)\""))
      settings.append(("network.proxy.\(kind)_port", "\(proxy.port)"))
    }
    // What it asks for by itself is of no use in the store.
    settings += [
      "app.normandy.enabled", "app.update.enabled", "browser.aboutwelcome.enabled",
      "browser.safebrowsing.downloads.remote.enabled", "browser.shell.checkDefaultBrowser",
      "browser.topsites.contile.enabled", "dom.security.https_first",
      "datareporting.healthreport.uploadEnabled",
      "datareporting.policy.dataSubmissionEnabled", "extensions.getAddons.cache.enabled",
      "extensions.update.enabled", "network.captive-portal-service.enabled",
      "network.connectivity-service.enabled", "toolkit.telemetry.enabled",
    ].map { ($0, "false") }
    return settings
  }

  private func makeFolder(_ folder: String) throws {
    // Safety: the path lives during the call.
    guard unsafe mkdir(folder, 0o700) == 0 else {
      throw ToolError(
        subject: folder, problem: "cannot be made: \(SystemError(errno))",
        remedy: "set TMPDIR to another folder")
    }
  }

  private func trust(_ folder: String) throws {
    let database = try CertificateDatabase(in: folder)
    try database.create()
    try database.trust(certificate)
  }
}
