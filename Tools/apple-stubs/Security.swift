// swift-format-ignore-file: AlwaysUseLowerCamelCase

// https://developer.apple.com/documentation/security
import Foundation

// Certificates and trust. Apple's types of Core Foundation are bridged to these of Swift.
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFDictionary = [String: Any]
public typealias CFString = String

/// https://developer.apple.com/documentation/corefoundation/cferror
public final class CFError {}

/// https://developer.apple.com/documentation/corefoundation/cferrorcopydescription(_:)
public func CFErrorCopyDescription(_ error: CFError!) -> CFString! { "" }

/// https://developer.apple.com/documentation/security/seccertificate
public final class SecCertificate: Sendable {}

/// https://developer.apple.com/documentation/security/secidentity
public final class SecIdentity: Sendable {}

/// https://developer.apple.com/documentation/security/sectrust
public final class SecTrust: Sendable {}

/// https://developer.apple.com/documentation/security/seccertificatecreatewithdata(_:_:)
public func SecCertificateCreateWithData(_ allocator: AnyObject?, _ data: CFData) -> SecCertificate?
{ nil }

/// https://developer.apple.com/documentation/security/seccertificatecopydata(_:)
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { Data() }

/// https://developer.apple.com/documentation/security/sectrustsetanchorcertificates(_:_:)
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchors: CFArray?) -> OSStatus { 0 }

/// https://developer.apple.com/documentation/security/sectrustsetanchorcertificatesonly(_:_:)
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ only: Bool) -> OSStatus { 0 }

/// https://developer.apple.com/documentation/security/sectrustcopycertificatechain(_:)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }

/// https://developer.apple.com/documentation/security/sectrustevaluatewitherror(_:_:)
public func SecTrustEvaluateWithError(
  _ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?
) -> Bool { false }

/// https://developer.apple.com/documentation/security/secpkcs12import(_:_:_:)
public func SecPKCS12Import(
  _ data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus { 0 }

public typealias OSStatus = Int32
public let errSecSuccess: OSStatus = 0
public let errSecAuthFailed: OSStatus = -25293
public let kSecImportExportPassphrase: CFString = "passphrase"
public let kSecImportItemIdentity: CFString = "identity"
public let kSecImportItemCertChain: CFString = "chain"
