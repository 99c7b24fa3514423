package import HTTPTransports

/// A body that comes from a cache beside the origin, whose content may be older than the origin's.
package protocol CopiedBody: TransportBody {
  /// Notes that the content is not the wanted one, so that the next request goes to the origin.
  func refuse()
}
