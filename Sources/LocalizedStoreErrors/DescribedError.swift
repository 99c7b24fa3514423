import CacheStore
import CacheSystem

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// An error whose `localizedDescription` is its `description`.
///
/// Foundation takes the text of `localizedDescription` from the protocol `LocalizedError` alone, which is
/// Foundation's. Modules without Foundation therefore cannot provide it; this module and
/// LocalizedClientErrors do it for them. A product that contains them links them into every program that
/// uses the product, so nobody has to import them (Docs/Architecture.md, *Modules*).
package protocol DescribedError: LocalizedError, CustomStringConvertible {}

extension DescribedError {
  /// The same text as `description`: path or URL, cause and remedy.
  public var errorDescription: String? { description }
}

extension StoreError: DescribedError {}
extension SystemError: DescribedError {}
