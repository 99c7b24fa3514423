// The modules whose types appear in the API of this one, or that are used together with it. The
// files of this module do not import them again.
@_exported public import CacheFormat
@_exported public import CacheStore
@_exported public import HTTPAuthentication
@_exported public import HTTPCaching
@_exported public import HTTPDownloads
@_exported public import HTTPSemantics
@_exported public import HTTPTransports
@_exported public import HTTPUploads
@_exported public import RemoteTier
