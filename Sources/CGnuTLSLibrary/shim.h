// The system's GnuTLS, which libmicrohttpd uses, found through pkg-config.
#include <gnutls/gnutls.h>
