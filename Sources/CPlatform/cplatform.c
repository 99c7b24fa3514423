#define _GNU_SOURCE
#include "cplatform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif
#ifdef __APPLE__
#include <sys/ioccom.h>
#endif

#define RETURN_RESULT(call)            \
  do {                                 \
    __typeof__(call) result = (call);  \
    return result < 0 ? -errno : result; \
  } while (0)

#if defined(__linux__)
// For kernels and sandboxes without openat2(2): opens each component separately with O_NOFOLLOW.
static int open_by_component(int directory, const char *path, int flags, mode_t mode) {
  int current = directory;
  char name[256];
  for (;;) {
    const char *slash = strchr(path, '/');
    if (slash == NULL) break;
    size_t count = (size_t)(slash - path);
    int next = -1, error = ENAMETOOLONG;
    if (count > 0 && count < sizeof name) {
      memcpy(name, path, count);
      name[count] = 0;
      next = openat(current, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      error = errno;
    }
    if (current != directory) close(current);
    if (next < 0) return -error;
    current = next;
    path = slash + 1;
  }
  int result = openat(current, path, flags | O_NOFOLLOW, mode);
  int error = errno;
  if (current != directory) close(current);
  return result < 0 ? -error : result;
}
#endif

static int open_flags(int options) {
  int flags = O_CLOEXEC | O_NONBLOCK;
  if ((options & CP_OPEN_READ) && (options & CP_OPEN_WRITE)) flags |= O_RDWR;
  else if (options & CP_OPEN_WRITE) flags |= O_WRONLY;
  else flags |= O_RDONLY;
  if (options & CP_OPEN_CREATE) flags |= O_CREAT;
  if (options & CP_OPEN_EXCLUSIVE) flags |= O_EXCL;
  if (options & CP_OPEN_DIRECTORY) flags |= O_DIRECTORY;
  return flags;
}

int cp_open(int directory, const char *path, int options, uint16_t mode) {
  int flags = open_flags(options);
  if (options & CP_OPEN_FOLLOW) RETURN_RESULT(openat(AT_FDCWD, path, flags, (mode_t)mode));
#if defined(__linux__)
  static volatile int without_openat2 = 0;
  // A read does not change the inode (the time of its last access), which would be written to the
  // disk later. Only the owner may ask for that.
  int quiet = (options & CP_OPEN_READ) ? O_NOATIME : 0;
  int result = -EPERM;
  do {
    if (!without_openat2) {
      struct open_how how;
      memset(&how, 0, sizeof how);
      how.flags = (uint64_t)(flags | quiet | O_NOFOLLOW);
      how.mode = (options & CP_OPEN_CREATE) ? mode : 0;
      how.resolve = RESOLVE_NO_SYMLINKS;
      long opened = syscall(SYS_openat2, directory, path, &how, sizeof how);
      result = opened < 0 ? -errno : (int)opened;
      if (result == -ENOSYS) without_openat2 = 1;
    }
    // A sandbox may refuse openat2(2) with EPERM.
    if (without_openat2 || (result == -EPERM && !quiet))
      result = open_by_component(directory, path, flags | quiet, (mode_t)mode);
    if (result != -EPERM || !quiet) return result;
    quiet = 0;
  } while (1);
#else
  RETURN_RESULT(openat(directory, path, flags | O_NOFOLLOW_ANY, (mode_t)mode));
#endif
}

void cp_close(int descriptor) { close(descriptor); }

// Apple's systems refuse more than INT_MAX bytes at once. The callers go on after fewer.
static size_t at_once(size_t count) { return count < 1u << 30 ? count : 1u << 30; }

int64_t cp_read(int descriptor, void *buffer, size_t count, int64_t offset) {
  count = at_once(count);
  if (offset < 0) RETURN_RESULT(read(descriptor, buffer, count));
  RETURN_RESULT(pread(descriptor, buffer, count, (off_t)offset));
}

int64_t cp_read_file(int directory, const char *path, void *buffer, size_t count) {
  int descriptor;
  do descriptor = cp_open(directory, path, CP_OPEN_READ, 0);
  while (descriptor == -EINTR);
  if (descriptor < 0) return descriptor;
  size_t done = 0;
  int64_t result = 0;
  while (done < count) {
    ssize_t got = read(descriptor, (char *)buffer + done, at_once(count - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result = -errno;
    if (got <= 0) break;
    done += (size_t)got;
    // The buffer has one byte more than the expected length, so the file has ended.
    if (done + 1 == count) break;
  }
  close(descriptor);
  return result < 0 ? result : (int64_t)done;
}

int64_t cp_write(int descriptor, const void *buffer, size_t count, int64_t offset) {
  count = at_once(count);
  if (offset < 0) RETURN_RESULT(write(descriptor, buffer, count));
  RETURN_RESULT(pwrite(descriptor, buffer, count, (off_t)offset));
}

int64_t cp_length(int descriptor) {
#ifdef __linux__
  // lseek(2) takes as long, but moves the position, and fstat(2) takes twice as long. The kernel
  // subtracts the position, and keeps the lower 32 bits of the difference.
  unsigned length;
  if (ioctl(descriptor, FIONREAD, &length) == 0) return length;
#endif
  struct stat status;
  if (fstat(descriptor, &status) < 0) return -errno;
  return (int64_t)status.st_size;
}

int cp_truncate(int descriptor, int64_t length) {
  RETURN_RESULT(ftruncate(descriptor, (off_t)length));
}

int cp_synchronize(int descriptor, int full) {
#ifdef __APPLE__
  (void)full;
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
  if (errno != ENOTSUP && errno != EINVAL) return -errno;
  RETURN_RESULT(fsync(descriptor));
#else
  RETURN_RESULT(full ? fsync(descriptor) : fdatasync(descriptor));
#endif
}

int cp_synchronize_volume(int descriptor) {
#ifdef __APPLE__
  // Not fsync_volume_np(3): in published sources of Libc it does not pass its flags on.
  uint32_t flags = SYNC_VOLUME_FULLSYNC | SYNC_VOLUME_WAIT;
  if (ffsctl(descriptor, _IOW('A', 1, uint32_t) /* FSIOC_SYNC_VOLUME */, &flags, 0) == 0) return 0;
  // A sandbox may refuse this call, and not every file system knows it. What sync(2) has not written
  // yet when it returns may then be lost with the power.
  if (errno == EIO || errno == EBADF || errno == EINTR) return -errno;
  sync();
  return cp_synchronize(descriptor, 1);
#else
  RETURN_RESULT(syncfs(descriptor));
#endif
}

static void fill_status(const struct stat *from, struct cp_status *to) {
  to->length = (uint64_t)from->st_size;
  to->allocated = (uint64_t)from->st_blocks * 512;
  to->file_number = (uint64_t)from->st_ino;
  to->device = (uint64_t)from->st_dev;
  to->link_count = (uint64_t)from->st_nlink;
#ifdef __APPLE__
  to->modified_nanoseconds =
      (int64_t)from->st_mtimespec.tv_sec * 1000000000 + from->st_mtimespec.tv_nsec;
#else
  to->modified_nanoseconds = (int64_t)from->st_mtim.tv_sec * 1000000000 + from->st_mtim.tv_nsec;
#endif
  to->owner = from->st_uid;
  to->mode = (uint16_t)(from->st_mode & 07777);
  to->kind = S_ISREG(from->st_mode)   ? CP_KIND_FILE
             : S_ISDIR(from->st_mode) ? CP_KIND_DIRECTORY
             : S_ISLNK(from->st_mode) ? CP_KIND_LINK
                                      : CP_KIND_OTHER;
}

int cp_status_of(int descriptor, struct cp_status *status) {
  struct stat found;
  int result;
  do result = fstat(descriptor, &found);
  while (result < 0 && errno == EINTR);
  if (result < 0) return -errno;
  fill_status(&found, status);
  return 0;
}

int cp_status_at(int directory, const char *path, int follows, struct cp_status *status) {
  struct stat found;
  if (fstatat(directory, path, &found, follows ? 0 : AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  fill_status(&found, status);
  return 0;
}

int cp_volume_of(int descriptor, struct cp_volume *volume) {
  struct statvfs found;
  if (fstatvfs(descriptor, &found) < 0) return -errno;
  volume->block_size = found.f_frsize;
  volume->total_bytes = (uint64_t)found.f_blocks * found.f_frsize;
  volume->available_bytes = (uint64_t)found.f_bavail * found.f_frsize;
  volume->available_files = found.f_files == 0 ? UINT64_MAX : (uint64_t)found.f_favail;
  return 0;
}

int cp_make_directory(int directory, const char *name, uint16_t mode) {
  RETURN_RESULT(mkdirat(directory, name, (mode_t)mode));
}

int cp_remove(int directory, const char *name, int is_directory) {
  RETURN_RESULT(unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0));
}

int cp_rename(int from_directory, const char *from, int to_directory, const char *to) {
  RETURN_RESULT(renameat(from_directory, from, to_directory, to));
}

int cp_link(int from_directory, const char *from, int to_directory, const char *to) {
  RETURN_RESULT(linkat(from_directory, from, to_directory, to, 0));
}

int cp_change_mode(int directory, const char *name, uint16_t mode) {
  // The owner of a directory may not have the right to enter it, which a name in it needs.
  if (strcmp(name, ".") == 0) RETURN_RESULT(fchmod(directory, (mode_t)mode));
  // On kernels older than 6.6, glibc uses O_PATH and /proc for this.
  RETURN_RESULT(fchmodat(directory, name, (mode_t)mode, AT_SYMLINK_NOFOLLOW));
}

int cp_lock(int descriptor, int exclusive, int wait) {
  RETURN_RESULT(flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | (wait ? 0 : LOCK_NB)));
}

int cp_unlock(int descriptor) { RETURN_RESULT(flock(descriptor, LOCK_UN)); }

static uint8_t kind_of(unsigned char type) {
  return type == DT_REG   ? CP_KIND_FILE
         : type == DT_DIR ? CP_KIND_DIRECTORY
         : type == DT_LNK ? CP_KIND_LINK
                          : CP_KIND_OTHER;
}

// Returns 1 if the name belongs to the listing, 0 if it must be skipped, or a negative errno.
static int look_at(int directory, const char *name, unsigned char type, uint8_t *kind) {
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
  if (type != DT_UNKNOWN) {
    *kind = kind_of(type);
    return 1;
  }
  struct cp_status status;
  int error = cp_status_at(directory, name, 0, &status);
  if (error < 0) return error == -ENOENT ? 0 : error;
  *kind = status.kind;
  return 1;
}

static int open_again(int descriptor) {
  // Another open file description, so that the position is not shared with another listing.
  int own;
  do own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (own < 0 && errno == EINTR);
  return own < 0 ? -errno : own;
}

#ifdef __linux__
// The record of getdents64(2), which no header declares.
struct name_record {
  uint64_t file_number;
  int64_t position;
  uint16_t length;  // of the whole record
  uint8_t type;
  char name[];
};

// A listing by getdents64(2) without fdopendir(3), which would also call fcntl(2) and fstat(2).
struct listing {
  int descriptor;
  int is_own;
  size_t next;   // the place of the next name in `bytes`
  size_t count;  // the number of bytes that are filled
  _Alignas(8) char bytes[32 << 10];
};

int cp_list_open(int descriptor, int is_fresh, void **stream) {
  struct listing *listing = malloc(sizeof *listing);
  if (listing == NULL) return -ENOMEM;
  listing->descriptor = is_fresh ? descriptor : open_again(descriptor);
  listing->is_own = !is_fresh;
  listing->next = listing->count = 0;
  if (listing->descriptor < 0) {
    int error = listing->descriptor;
    free(listing);
    return error;
  }
  *stream = listing;
  return 0;
}

int cp_list_next(void *stream, const char **name, uint8_t *kind) {
  struct listing *listing = stream;
  for (;;) {
    if (listing->next >= listing->count) {
      long count;
      do count = syscall(SYS_getdents64, listing->descriptor, listing->bytes, sizeof listing->bytes);
      while (count < 0 && errno == EINTR);
      // For a directory that was removed, Linux returns ENOENT: it has no names.
      if (count < 0) return errno == ENOENT ? 0 : -errno;
      if (count == 0) return 0;
      listing->next = 0;
      listing->count = (size_t)count;
    }
    struct name_record *found = (struct name_record *)(listing->bytes + listing->next);
    listing->next += found->length;
    int result = look_at(listing->descriptor, found->name, found->type, kind);
    if (result == 0) continue;
    *name = found->name;
    return result;
  }
}

void cp_list_close(void *stream) {
  struct listing *listing = stream;
  if (listing->is_own) close(listing->descriptor);
  free(listing);
}
#else
int cp_list_open(int descriptor, int is_fresh, void **stream) {
  (void)is_fresh;
  int own = open_again(descriptor);
  if (own < 0) return own;
  DIR *opened;
  do opened = fdopendir(own);
  while (opened == NULL && errno == EINTR);
  if (opened == NULL) {
    int error = errno;
    close(own);
    return -error;
  }
  *stream = opened;
  return 0;
}

int cp_list_next(void *stream, const char **name, uint8_t *kind) {
  for (;;) {
    errno = 0;
    struct dirent *found = readdir((DIR *)stream);
    if (found == NULL && errno == EINTR) continue;
    if (found == NULL) return -errno;
    int result = look_at(dirfd((DIR *)stream), found->d_name, found->d_type, kind);
    if (result == 0) continue;
    *name = found->d_name;
    return result;
  }
}

void cp_list_close(void *stream) { closedir((DIR *)stream); }
#endif

int64_t cp_wall_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cp_coarse_nanoseconds(void) {
#ifdef CLOCK_REALTIME_COARSE
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#else
  return cp_wall_nanoseconds();
#endif
}

int cp_working_directory(void) { return AT_FDCWD; }

size_t cp_text_length(const char *text) { return strlen(text); }

struct thread_start {
  void (*body)(void *);
  void *context;
};

static void *run_thread(void *raw) {
  struct thread_start start = *(struct thread_start *)raw;
  free(raw);
  start.body(start.context);
  return NULL;
}

int cp_start_thread(void (*body)(void *), void *context) {
  struct thread_start *start = malloc(sizeof *start);
  if (start == NULL) return -ENOMEM;
  *start = (struct thread_start){body, context};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, run_thread, start);
  pthread_attr_destroy(&attributes);
  if (error != 0) free(start);
  return -error;
}

uint64_t cp_thread_number(void) { return (uint64_t)(uintptr_t)pthread_self(); }

static _Thread_local int32_t lock_order;

int32_t cp_set_lock_order(int32_t order) {
  int32_t before = lock_order;
  lock_order = order;
  return before;
}

int32_t cp_lock_order(void) { return lock_order; }
