// The system's SQLite, found through pkg-config.
#include <sqlite3.h>
