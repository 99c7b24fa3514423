import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransports
import MessageDigests

// The TLS options of a handle, and the certificate of the server.
extension EasyHandle {
  /// Sets authorities and client certificate.
  ///
  /// - Returns: false if libcurl does not take an option.
  func setTrust(_ setup: NetworkSetup, _ url: NormalizedURL) -> Bool {
    if let file = setup.certificateAuthoritiesFile {
      // OpenSSL would read the system's folder, too. Other libraries have no such option.
      // Safety: the handle is valid, and the option takes a string or NULL.
      _ = unsafe occurl_set_string(raw, CURLOPT_CAPATH, nil)
      guard set(CURLOPT_CAINFO, file) else { return false }
    }
    guard let client = setup.clientCertificate,
      client.hosts?.contains(NetworkSetup.withoutDot(url.host)) ?? true
    else {
      return true
    }
    // If a passphrase is set, even an empty one, OpenSSL does not ask for it on the terminal.
    return set(CURLOPT_SSLCERT, client.certificateFile)
      && set(CURLOPT_SSLKEY, client.keyFile ?? client.certificateFile)
      && set(CURLOPT_KEYPASSWD, client.passphrase ?? "")
  }

  /// Returns the pins that match the server of the transfer's connection: of its key and of its
  /// certificate. Must be called while the connection is in use.
  ///
  /// - Returns: The pins, or `nil` if the connection has no TLS, or libcurl does not use OpenSSL.
  func serverPins() -> (key: Pin, certificate: Pin)? {
    // Safety: both read the connection of the handle, which is in use.
    guard let key = unsafe digest(of: occurl_peer_public_key),
      let certificate = unsafe digest(of: occurl_peer_certificate),
      let keyPin = Pin(.publicKey, digest: key),
      let certificatePin = Pin(.certificate, digest: certificate)
    else { return nil }
    return (keyPin, certificatePin)
  }

  private func digest(
    of part: (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) -> [UInt8]? {
    // Safety: without a buffer only the length is returned.
    let length = unsafe part(raw, nil, 0)
    guard length > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: length)
    // Safety: the buffer has the length that is passed.
    let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe part(raw, buffer.baseAddress, buffer.count)
    }
    guard written == length else { return nil }
    return MessageDigest.of(bytes, .sha256)
  }
}
