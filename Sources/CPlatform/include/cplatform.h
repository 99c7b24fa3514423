// Functions that Swift cannot call, or that differ between platforms. Every function that can fail
// returns a negative errno, so that no caller can read errno too late.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <stddef.h>
#include <stdint.h>

/// The result of fstat(2), the same on all platforms.
struct cp_status {
  uint64_t length;       // bytes
  uint64_t allocated;    // bytes actually allocated
  uint64_t file_number;  // inode
  uint64_t device;       // the volume
  uint64_t link_count;
  int64_t modified_nanoseconds;  // since 1970
  uint32_t owner;                // user id
  uint16_t mode;                 // permission bits, 07777
  uint8_t kind;                  // CP_KIND_*
};

enum { CP_KIND_OTHER = 0, CP_KIND_FILE = 1, CP_KIND_DIRECTORY = 2, CP_KIND_LINK = 3 };

/// The result of statvfs(3).
struct cp_volume {
  uint64_t block_size;       // bytes
  uint64_t total_bytes;      // the whole volume; 0 if the file system does not tell
  uint64_t available_bytes;  // that this user may still write
  uint64_t available_files;  // free inodes; UINT64_MAX if the file system has no such limit
};

enum {
  CP_OPEN_READ = 1,
  CP_OPEN_WRITE = 2,
  CP_OPEN_CREATE = 4,
  CP_OPEN_EXCLUSIVE = 8,
  CP_OPEN_DIRECTORY = 16,
  CP_OPEN_FOLLOW = 32,  // only for paths that the user gave
};

/// openat(2) that follows no symbolic link in any component and does not block; the descriptor is
/// closed on exec.
int cp_open(int directory, const char *path, int options, uint16_t mode);
void cp_close(int descriptor);
/// One pread(2), or read(2) if `offset` is negative.
int64_t cp_read(int descriptor, void *buffer, size_t count, int64_t offset);
/// Opens a file as cp_open does, reads up to `count` bytes from its beginning, and closes it. Also
/// stops when only one byte of the buffer is left.
int64_t cp_read_file(int directory, const char *path, void *buffer, size_t count);
/// One pwrite(2), or write(2) if `offset` is negative.
int64_t cp_write(int descriptor, const void *buffer, size_t count, int64_t offset);
/// The length of a regular file below 4 GiB whose position is 0.
int64_t cp_length(int descriptor);
int cp_truncate(int descriptor, int64_t length);
/// fdatasync(2), or fsync(2) if `full` is not 0; on Apple platforms F_FULLFSYNC in both cases.
int cp_synchronize(int descriptor, int full);
/// syncfs(2); on Apple platforms what fsync_volume_np(3) does, which waits for the disk. If the system
/// refuses that, what sync(2) has not written at its return may be lost with the power.
int cp_synchronize_volume(int descriptor);
int cp_status_of(int descriptor, struct cp_status *status);
/// The status of what is at a path, after a symbolic link at its end if `follows` is not 0.
int cp_status_at(int directory, const char *path, int follows, struct cp_status *status);
int cp_volume_of(int descriptor, struct cp_volume *volume);
int cp_make_directory(int directory, const char *name, uint16_t mode);
int cp_remove(int directory, const char *name, int is_directory);
int cp_rename(int from_directory, const char *from, int to_directory, const char *to);
int cp_link(int from_directory, const char *from, int to_directory, const char *to);
/// fchmodat(2) that does not follow a link; also works for a file that cannot be opened.
int cp_change_mode(int directory, const char *name, uint16_t mode);
/// flock(2): returns 0, or -EWOULDBLOCK if `wait` is 0 and the lock is held elsewhere.
int cp_lock(int descriptor, int exclusive, int wait);
int cp_unlock(int descriptor);

/// Opens a stream of the names in a directory; does not take over `descriptor`. If `is_fresh` is
/// not 0, the stream may read through `descriptor` itself: nothing may have been read from it
/// before, and it must stay open as long as the stream.
int cp_list_open(int descriptor, int is_fresh, void **stream);
/// Returns 1 and sets *name (valid until the next call) and *kind; returns 0 at the end, or a
/// negative errno.
int cp_list_next(void *stream, const char **name, uint8_t *kind);
void cp_list_close(void *stream);

int64_t cp_wall_nanoseconds(void);
/// The same time as cp_wall_nanoseconds, but some milliseconds late if that is cheaper.
int64_t cp_coarse_nanoseconds(void);
/// AT_FDCWD.
int cp_working_directory(void);
size_t cp_text_length(const char *text);

/// Starts a detached thread that runs `body(context)` with a stack of 1 MiB; returns 0 or a
/// negative errno.
int cp_start_thread(void (*body)(void *), void *context);
/// Returns a number that no other running thread of the process has.
uint64_t cp_thread_number(void);
/// Sets the order of the innermost lock that this thread holds (0 for none); returns the one
/// before.
int32_t cp_set_lock_order(int32_t order);
int32_t cp_lock_order(void);

#endif
