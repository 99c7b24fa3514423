// One import is enough: the modules of all types in the public API are re-exported. The files of this
// module do not import them again.
@_exported public import CacheClient
@_exported public import CacheFormat
@_exported public import CacheStore
@_exported public import Foundation
@_exported public import HTTPAuthentication
@_exported public import HTTPCaching
@_exported public import HTTPDownloads
@_exported public import HTTPSemantics
@_exported public import HTTPTransports
@_exported public import HTTPUploads
@_exported public import MessageDigests
@_exported public import Reachability
@_exported public import RemoteTier

#if canImport(Darwin)
  @_exported public import URLSessionHTTP
#else
  @_exported public import CurlHTTP
#endif
#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif
