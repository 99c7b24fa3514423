// One import is enough: keys, fields and metadata are types of CacheFormat.
@_exported public import CacheFormat
