// The modules whose types appear in the API of this one.
@_exported public import HTTPAuthentication
@_exported public import HTTPDownloads
@_exported public import HTTPUploads
