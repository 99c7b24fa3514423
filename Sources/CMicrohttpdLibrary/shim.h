// The system's GNU libmicrohttpd, found through pkg-config.
#include <microhttpd.h>
