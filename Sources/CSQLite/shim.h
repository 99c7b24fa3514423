// The system's SQLite, found through pkg-config, and its variadic functions.
#include <sqlite3.h>

/// Makes a connection safe for a database that an enemy may have written (sqlite.org/security.html):
/// no writes to the schema's own tables, no functions with side effects from the schema, neither
/// triggers nor views. 0, or the code of an error.
static inline int csqlite_distrust(sqlite3 *database) {
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (code == SQLITE_OK)
    code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  if (code == SQLITE_OK)
    code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  if (code == SQLITE_OK)
    code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
  return code;
}
