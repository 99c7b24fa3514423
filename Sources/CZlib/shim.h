// The system's zlib, found through pkg-config.
#include <zlib.h>
