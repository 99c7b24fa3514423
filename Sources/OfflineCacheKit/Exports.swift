// One import is enough: the modules of all types in the public API are re-exported. The files of this
// module do not import them again.
@_exported public import CacheClient
@_exported public import Foundation
@_exported public import MessageDigests
@_exported public import Reachability

#if canImport(Darwin)
  @_exported public import URLSessionHTTP
#else
  @_exported public import CurlHTTP
#endif
#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif
