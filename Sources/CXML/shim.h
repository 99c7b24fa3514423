// The system's libxml2, found through pkg-config.
#include <libxml/HTMLparser.h>
