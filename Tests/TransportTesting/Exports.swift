// The modules whose types appear in the API of this one.
@_exported public import HTTPSemantics
@_exported public import HTTPTransports
@_exported public import LoopbackOrigin
