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
public let errSecPkcs12VerifyFailure: OSStatus = -25264
public let kSecImportToMemoryOnly: CFString = "memory"
public let kSecImportExportPassphrase: CFString = "passphrase"
public let kSecImportItemIdentity: CFString = "identity"
public let kSecImportItemCertChain: CFString = "chain"

// MARK: Keychain (HTTPAuthentication) - begin

public typealias CFTypeRef = AnyObject

/// https://developer.apple.com/documentation/security/secitemcopymatching(_:_:)
public func SecItemCopyMatching(
  _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { -1 }

/// https://developer.apple.com/documentation/security/secitemadd(_:_:)
public func SecItemAdd(
  _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { -1 }

/// https://developer.apple.com/documentation/security/secitemupdate(_:_:)
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  -1
}

/// https://developer.apple.com/documentation/security/secitemdelete(_:)
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { -1 }

/// https://developer.apple.com/documentation/security/errsecitemnotfound
public let errSecItemNotFound: OSStatus = -25300
/// https://developer.apple.com/documentation/security/errsecduplicateitem
public let errSecDuplicateItem: OSStatus = -25299

/// https://developer.apple.com/documentation/security/ksecclass
public let kSecClass: CFString = ""
/// https://developer.apple.com/documentation/security/ksecclassinternetpassword
public let kSecClassInternetPassword: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrserver
public let kSecAttrServer: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrport
public let kSecAttrPort: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrprotocol
public let kSecAttrProtocol: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrprotocolhttp
public let kSecAttrProtocolHTTP: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrprotocolhttps
public let kSecAttrProtocolHTTPS: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrsecuritydomain
public let kSecAttrSecurityDomain: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrauthenticationtype
public let kSecAttrAuthenticationType: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrauthenticationtypedefault
public let kSecAttrAuthenticationTypeDefault: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrauthenticationtypehttpbasic
public let kSecAttrAuthenticationTypeHTTPBasic: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrauthenticationtypehttpdigest
public let kSecAttrAuthenticationTypeHTTPDigest: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccount
public let kSecAttrAccount: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattrcreator
public let kSecAttrCreator: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessgroup
public let kSecAttrAccessGroup: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessible
public let kSecAttrAccessible: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessiblewhenunlocked
public let kSecAttrAccessibleWhenUnlocked: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessiblewhenunlockedthisdeviceonly
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessibleafterfirstunlock
public let kSecAttrAccessibleAfterFirstUnlock: CFString = ""
/// https://developer.apple.com/documentation/security/ksecattraccessibleafterfirstunlockthisdeviceonly
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = ""
/// https://developer.apple.com/documentation/security/ksecusedataprotectionkeychain
public let kSecUseDataProtectionKeychain: CFString = ""
/// https://developer.apple.com/documentation/security/ksecmatchlimit
public let kSecMatchLimit: CFString = ""
/// https://developer.apple.com/documentation/security/ksecmatchlimitone
public let kSecMatchLimitOne: CFString = ""
/// https://developer.apple.com/documentation/security/ksecmatchlimitall
public let kSecMatchLimitAll: CFString = ""
/// https://developer.apple.com/documentation/security/ksecreturnattributes
public let kSecReturnAttributes: CFString = ""
/// https://developer.apple.com/documentation/security/ksecreturndata
public let kSecReturnData: CFString = ""
/// https://developer.apple.com/documentation/security/ksecvaluedata
public let kSecValueData: CFString = ""

// MARK: Keychain (HTTPAuthentication) - end
