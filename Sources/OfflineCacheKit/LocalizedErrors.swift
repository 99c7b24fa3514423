import LocalizedClientErrors
import LocalizedStoreErrors

extension ReachabilityError: DescribedError {}
extension StoringError: DescribedError {}
