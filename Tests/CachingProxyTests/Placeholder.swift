// CachingProxy
