import CacheClient
import ContentCoding
import HTTPAuthentication
import HTTPCaching
import HTTPDownloads
import HTTPSemantics
import HTTPTransports
import HTTPUploads
import LocalizedStoreErrors
import RemoteTier

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The errors of the product CacheClient.
extension ClientError: DescribedError {}
extension ContentCodingError: DescribedError {}
extension CredentialVaultError: DescribedError {}
extension DownloadError: DescribedError {}
extension FingerprintKeyError: DescribedError {}
extension InvalidDigest: DescribedError {}
extension InvalidURL: DescribedError {}
extension NotStored: DescribedError {}
extension PinError: DescribedError {}
extension RemoteCacheError: DescribedError {}
extension SubstituteError: DescribedError {}
extension TransportError: DescribedError {}
extension UploadError: DescribedError {}
