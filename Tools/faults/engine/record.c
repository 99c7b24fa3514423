// Records what a program does to files: a line of JSON for each call, and the bytes that it wrote.

#include "faultrun.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static FILE *lines, *bytes;
static long byte_count;

// Creates ops.jsonl and data.bin in a folder.
void open_record(const char *folder) {
  char path[PATH_MAX];
  mkdir(folder, 0755);
  snprintf(path, sizeof path, "%s/ops.jsonl", folder);
  lines = fopen(path, "we");
  snprintf(path, sizeof path, "%s/data.bin", folder);
  bytes = fopen(path, "we");
  if (!lines || !bytes) {
    perror(folder);
    exit(125);
  }
}

void close_record(void) {
  if (!lines) return;
  fclose(lines);
  fclose(bytes);
}

int is_recording(void) { return lines != NULL; }

static void print_string(const char *text) {
  fputc('"', lines);
  for (; *text; text++) {
    unsigned char byte = *text;
    if (byte == '"' || byte == '\\') fprintf(lines, "\\%c", byte);
    else if (byte < 32) fprintf(lines, "\\u%04x", byte);
    else fputc(byte, lines);
  }
  fputc('"', lines);
}

static void print_number(const char *name, long long value) {
  fprintf(lines, ",\"%s\":%lld", name, value);
}

static void print_start(struct thread *thread, const char *name) {
  fprintf(lines, "{\"op\":\"%s\",\"p\":", name);
  print_string(thread->path);
  fprintf(lines, ",\"p2\":");
  print_string(thread->to_path);
}

static void print_file(struct thread *thread, long descriptor) {
  struct stat status;
  if (stat_descriptor(thread->id, descriptor, &status)) return;
  print_number("ino", status.st_ino);
  print_number("dir", S_ISDIR(status.st_mode));
}

// Appends memory of a thread to the bytes.
static void copy_memory(pid_t thread, unsigned long address, size_t count) {
  static char piece[1 << 16];
  while (count) {
    ssize_t got = read_memory(thread, address, piece, count < sizeof piece ? count : sizeof piece);
    if (got <= 0) return;
    fwrite(piece, 1, got, bytes);
    byte_count += got;
    address += got;
    count -= got;
  }
}

static void copy_vectors(struct thread *thread, long left) {
  for (unsigned place = 0; place < thread->arguments[2] && left > 0; place++) {
    struct iovec vector;
    unsigned long address = thread->arguments[1] + place * sizeof vector;
    if (read_memory(thread->id, address, &vector, sizeof vector) <= 0) return;
    size_t count = (long)vector.iov_len < left ? vector.iov_len : (size_t)left;
    copy_memory(thread->id, (unsigned long)vector.iov_base, count);
    left -= count;
  }
}

// Appends what the kernel copied, read back from the file that it was copied to.
static void copy_from_file(struct thread *thread, long descriptor, long count) {
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/fd/%ld", thread->id, descriptor);
  int file = open(link, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char *buffer = malloc(count);
  ssize_t got = pread(file, buffer, count, thread->offset);
  close(file);
  if (got > 0) byte_count += fwrite(buffer, 1, got, bytes);
  free(buffer);
}

static void print_content(struct thread *thread, long count) {
  long start = byte_count;
  if (is_plain_write(thread->call)) copy_memory(thread->id, thread->arguments[1], count);
  else if (is_vector_write(thread->call)) copy_vectors(thread, count);
  else if (thread->call->number == SYS_sendfile)
    copy_from_file(thread, thread->arguments[0], count);
  else if (thread->call->number == SYS_copy_file_range)
    copy_from_file(thread, thread->arguments[2], count);
  else return;
  print_number("blob", start);
  print_number("len", byte_count - start);
  print_number("off", thread->offset);
}

// The file that linkat(2) has linked, however it was named.
static void print_link_source(struct thread *thread) {
  struct stat status;
  int descriptor = -1;
  if (sscanf(thread->path, "/proc/self/fd/%d", &descriptor) != 1 &&
      thread->arguments[4] & AT_EMPTY_PATH)
    descriptor = thread->arguments[0];
  int failed = descriptor >= 0 ? stat_descriptor(thread->id, descriptor, &status)
                               : stat(thread->to_path, &status);
  if (!failed) print_number("srcino", status.st_ino);
}

static void print_arguments(struct thread *thread) {
  unsigned long long *arguments = thread->arguments;
  char target[PATH_MAX];
  switch (thread->call->number) {
  case SYS_openat: print_number("flags", arguments[2]); break;
  case SYS_open: print_number("flags", arguments[1]); break;
  case SYS_creat: print_number("flags", O_CREAT | O_TRUNC | O_WRONLY); break;
  case SYS_renameat2: print_number("flags", arguments[4]); break;
  case SYS_ftruncate:
  case SYS_truncate: print_number("size", arguments[1]); break;
  case SYS_fallocate:
    print_number("mode", arguments[1]);
    print_number("off", arguments[2]);
    print_number("size", arguments[3]);
    break;
  case SYS_symlink:
  case SYS_symlinkat:
    if (read_string(thread->id, arguments[0], target, sizeof target)) break;
    fprintf(lines, ",\"target\":");
    print_string(target);
    break;
  case SYS_linkat: print_link_source(thread); break;
  }
}

// Writes the line of a call that succeeded.
void record_call(struct thread *thread, long result) {
  if (result < 0) return;
  print_start(thread, thread->call->name);
  print_arguments(thread);
  if (result > 0) print_content(thread, result);
  if (thread->call->shape & BY_FD) print_file(thread, thread->arguments[thread->call->first]);
  if (is_open(thread->call)) print_file(thread, result);
  fprintf(lines, "}\n");
}

// Writes the line of a sync that was made to fail: what it should have saved may be lost.
void record_failed_sync(struct thread *thread) {
  print_start(thread, "sync_failed");
  print_file(thread, thread->arguments[0]);
  fprintf(lines, "}\n");
}
