// The system calls that faultrun knows, and the names of errors.

#include "faultrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

const struct call calls[] = {
    {SYS_open, "open", BY_PATH, CHANGES | READS, 0, 0},
    {SYS_creat, "creat", BY_PATH, CHANGES, 0, 0},
    {SYS_openat, "openat", BY_AT_PATH, CHANGES | READS, 0, 0},
    {SYS_openat2, "openat2", BY_AT_PATH, CHANGES | READS, 0, 0},
    {SYS_write, "write", BY_FD, CHANGES, 0, 0},
    {SYS_pwrite64, "pwrite64", BY_FD, CHANGES, 0, 0},
    {SYS_writev, "writev", BY_FD, CHANGES, 0, 0},
    {SYS_pwritev, "pwritev", BY_FD, CHANGES, 0, 0},
    {SYS_pwritev2, "pwritev2", BY_FD, CHANGES, 0, 0},
    {SYS_sendfile, "sendfile", BY_FD, CHANGES, 0, 0},
    {SYS_copy_file_range, "copy_file_range", BY_FD, CHANGES, 2, 0},
    {SYS_rename, "rename", BY_PATH | TO_PATH, CHANGES, 0, 1},
    {SYS_renameat, "renameat", BY_AT_PATH | TO_AT_PATH, CHANGES, 0, 2},
    {SYS_renameat2, "renameat2", BY_AT_PATH | TO_AT_PATH, CHANGES, 0, 2},
    {SYS_link, "link", BY_PATH | TO_PATH, CHANGES, 0, 1},
    {SYS_linkat, "linkat", BY_AT_PATH | TO_AT_PATH, CHANGES, 0, 2},
    {SYS_symlink, "symlink", TO_PATH, CHANGES, 0, 1},
    {SYS_symlinkat, "symlinkat", TO_AT_PATH, CHANGES, 0, 1},
    {SYS_unlink, "unlink", BY_PATH, CHANGES, 0, 0},
    {SYS_unlinkat, "unlinkat", BY_AT_PATH, CHANGES, 0, 0},
    {SYS_rmdir, "rmdir", BY_PATH, CHANGES, 0, 0},
    {SYS_mkdir, "mkdir", BY_PATH, CHANGES, 0, 0},
    {SYS_mkdirat, "mkdirat", BY_AT_PATH, CHANGES, 0, 0},
    {SYS_mknod, "mknod", BY_PATH, CHANGES, 0, 0},
    {SYS_mknodat, "mknodat", BY_AT_PATH, CHANGES, 0, 0},
    {SYS_truncate, "truncate", BY_PATH, CHANGES, 0, 0},
    {SYS_ftruncate, "ftruncate", BY_FD, CHANGES, 0, 0},
    {SYS_fallocate, "fallocate", BY_FD, CHANGES, 0, 0},
    {SYS_fsync, "fsync", BY_FD, CHANGES, 0, 0},
    {SYS_fdatasync, "fdatasync", BY_FD, CHANGES, 0, 0},
    {SYS_sync_file_range, "sync_file_range", BY_FD, CHANGES, 0, 0},
    {SYS_syncfs, "syncfs", BY_FD, CHANGES, 0, 0},
    {SYS_msync, "msync", 0, CHANGES, 0, 0},
    {SYS_fchmod, "fchmod", BY_FD, CHANGES, 0, 0},
    {SYS_chmod, "chmod", BY_PATH, CHANGES, 0, 0},
    {SYS_fchmodat, "fchmodat", BY_AT_PATH, CHANGES, 0, 0},
    {SYS_utimensat, "utimensat", BY_AT_PATH, CHANGES, 0, 0},
    {SYS_fsetxattr, "fsetxattr", BY_FD, CHANGES, 0, 0},
    {SYS_setxattr, "setxattr", BY_PATH, CHANGES, 0, 0},
    {SYS_mmap, "mmap", BY_FD, CHANGES | READS, 4, 0},
    {SYS_read, "read", BY_FD, READS, 0, 0},
    {SYS_pread64, "pread64", BY_FD, READS, 0, 0},
    {SYS_readv, "readv", BY_FD, READS, 0, 0},
    {SYS_preadv, "preadv", BY_FD, READS, 0, 0},
    {SYS_getdents64, "getdents64", BY_FD, READS, 0, 0},
    {SYS_close, "close", BY_FD, READS, 0, 0},
    {SYS_newfstatat, "newfstatat", BY_AT_PATH, READS, 0, 0},
    {SYS_fstat, "fstat", BY_FD, READS, 0, 0},
    {SYS_stat, "stat", BY_PATH, READS, 0, 0},
    {SYS_lstat, "lstat", BY_PATH, READS, 0, 0},
    {SYS_statx, "statx", BY_AT_PATH, READS, 0, 0},
    {SYS_access, "access", BY_PATH, READS, 0, 0},
    {SYS_faccessat2, "faccessat2", BY_AT_PATH, READS, 0, 0},
    {SYS_readlink, "readlink", BY_PATH, READS, 0, 0},
    {SYS_lseek, "lseek", BY_FD, READS, 0, 0},
    {SYS_ioctl, "ioctl", BY_FD, READS, 0, 0},
    {SYS_flock, "flock", BY_FD, LOCKS, 0, 0},
    {SYS_fcntl, "fcntl", BY_FD, LOCKS, 0, 0},
};
const int call_count = sizeof calls / sizeof *calls;

static const struct {
  const char *name;
  int number;
} errors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},         {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
    {"EINTR", EINTR},   {"EDQUOT", EDQUOT},   {"EACCES", EACCES}, {"EPERM", EPERM},
    {"EROFS", EROFS},   {"ENOMEM", ENOMEM},   {"EAGAIN", EAGAIN}, {"EMLINK", EMLINK},
    {"EFBIG", EFBIG},   {"ENOENT", ENOENT},   {"EEXIST", EEXIST}, {"EXDEV", EXDEV},
    {"EBUSY", EBUSY},   {"ENOTSUP", ENOTSUP}, {"EINVAL", EINVAL}, {"ESTALE", ESTALE},
    {"ELOOP", ELOOP},   {"ENOLCK", ENOLCK},   {"ENOSYS", ENOSYS}, {"ENAMETOOLONG", ENAMETOOLONG}};

// Returns the call of a number, or NULL if faultrun does not know it.
const struct call *find_call(long number) {
  for (int place = 0; place < call_count; place++)
    if (calls[place].number == (int)number) return calls + place;
  return NULL;
}

static int is_in(const char *list, const char *word) {
  char inner[4096], outer[64];
  snprintf(inner, sizeof inner, ",%s,", list);
  snprintf(outer, sizeof outer, ",%s,", word);
  return strstr(inner, outer) != NULL;
}

// Returns whether `--set` asks for a call: a list of groups and names.
enum wanted choose(const struct call *call, const char *set) {
  if (is_in(set, "all") || is_in(set, call->name)) return ALWAYS;
  if (is_in(set, "read") && call->groups & READS) return ALWAYS;
  if (is_in(set, "lock") && call->groups & LOCKS) return ALWAYS;
  return is_in(set, "mut") && call->groups & CHANGES ? IF_IT_CHANGES : NOT_WANTED;
}

// Returns the number of an error that is given by name or number; 0 if there is none.
int error_named(const char *name) {
  for (unsigned place = 0; place < sizeof errors / sizeof *errors; place++)
    if (!strcmp(errors[place].name, name)) return errors[place].number;
  return atoi(name);
}

int is_plain_write(const struct call *call) {
  return call->number == SYS_write || call->number == SYS_pwrite64;
}

int is_vector_write(const struct call *call) {
  return call->number == SYS_writev || call->number == SYS_pwritev || call->number == SYS_pwritev2;
}

int is_open(const struct call *call) {
  return call->number == SYS_open || call->number == SYS_creat || call->number == SYS_openat ||
         call->number == SYS_openat2;
}
