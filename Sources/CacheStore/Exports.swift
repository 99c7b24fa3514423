// One import is enough: keys, fields and metadata are types of CacheFormat.
@_exported public import CacheFormat

@_exported public import struct CacheSystem.SystemClock
@_exported public import protocol CacheSystem.WallClock
