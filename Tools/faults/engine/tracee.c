// Reads what the traced program has: its memory, and the files behind its descriptors.

#include "faultrun.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// Copies memory of a thread; returns how much, or -1.
ssize_t read_memory(pid_t thread, unsigned long address, void *buffer, size_t count) {
  struct iovec here = {buffer, count}, there = {(void *)address, count};
  return process_vm_readv(thread, &here, 1, &there, 1, 0);
}

// Copies a string up to its end or the end of the buffer, page by page; returns 0, or -1.
int read_string(pid_t thread, unsigned long address, char *buffer, size_t count) {
  size_t offset = 0;
  while (offset < count - 1) {
    size_t piece = 4096 - ((address + offset) & 4095);
    if (piece > count - 1 - offset) piece = count - 1 - offset;
    ssize_t got = read_memory(thread, address + offset, buffer + offset, piece);
    if (got <= 0) return -1;
    if (memchr(buffer + offset, 0, got)) return 0;
    offset += got;
  }
  buffer[count - 1] = 0;
  return 0;
}

// Removes empty parts, "." and ".." from a path, without a look at the files.
static void normalize(char *path) {
  char result[PATH_MAX];
  size_t length = 0;
  for (char *part = path; *part;) {
    while (*part == '/') part++;
    if (!*part) break;
    char *end = strchrnul(part, '/');
    size_t count = end - part;
    if (count == 2 && part[0] == '.' && part[1] == '.') {
      while (length && result[length - 1] != '/') length--;
      if (length) length--;
    } else if (!(count == 1 && *part == '.') && length + count + 2 < sizeof result) {
      result[length++] = '/';
      memcpy(result + length, part, count);
      length += count;
    }
    part = end;
  }
  if (!length) result[length++] = '/';
  result[length] = 0;
  strcpy(path, result);
}

// Writes the path behind a descriptor; empty if there is none.
void descriptor_path(pid_t thread, int descriptor, char *path) {
  char link[64];
  snprintf(
      link, sizeof link, descriptor == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", thread,
      descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
}

// Writes the path that a directory and a string in the thread's memory name.
void path_at(pid_t thread, int directory, unsigned long address, char *path) {
  char name[PATH_MAX];
  *path = 0;
  if (!address) {
    if (directory >= 0) descriptor_path(thread, directory, path);
    return;
  }
  if (read_string(thread, address, name, sizeof name)) return;
  if (name[0] == '/') {
    strcpy(path, name);
  } else {
    descriptor_path(thread, directory, path);
    size_t length = strlen(path);
    if (name[0]) snprintf(path + length, PATH_MAX - length, "/%s", name);
  }
  normalize(path);
}

// Fills in the status of the file behind a descriptor; returns 0, or -1.
int stat_descriptor(pid_t thread, long descriptor, struct stat *status) {
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/fd/%ld", thread, descriptor);
  return stat(link, status);
}

// Returns where the next write(2) to a descriptor goes.
long write_offset(pid_t thread, int descriptor) {
  char name[64], text[512];
  snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", thread, descriptor);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  long position = 0;
  unsigned flags = 0;
  sscanf(text, "pos: %ld", &position);
  char *place = strstr(text, "flags:");
  if (place) sscanf(place, "flags: %o", &flags);
  struct stat status;
  if (flags & O_APPEND) return stat_descriptor(thread, descriptor, &status) ? 0 : status.st_size;
  return position;
}
