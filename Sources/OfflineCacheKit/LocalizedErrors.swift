import Foundation
import LocalizedClientErrors
import LocalizedStoreErrors
import Reachability

extension ReachabilityError: DescribedError {}
extension StoringError: DescribedError {}
