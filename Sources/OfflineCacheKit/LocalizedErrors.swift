import LocalizedClientErrors
import LocalizedStoreErrors

extension LogOutError: DescribedError {}
extension ReachabilityError: DescribedError {}
extension StoringError: DescribedError {}
