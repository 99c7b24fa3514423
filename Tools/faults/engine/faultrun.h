// What the files of faultrun share. faultrun.c says what the program does.

#ifndef FAULTRUN_H
#define FAULTRUN_H

#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

// How a system call names the files that it is about.
enum shape { BY_FD = 1, BY_PATH = 2, BY_AT_PATH = 4, TO_PATH = 8, TO_AT_PATH = 16 };
// What a system call does, for `--set`.
enum group { CHANGES = 1, READS = 2, LOCKS = 4 };

struct call {
  int number;
  const char *name;
  int shape;
  int groups;
  int first;   // the argument with the descriptor or path; the directory of a path stands before it
  int second;  // the same for the second path
};

// Whether a call counts as a point. With IF_IT_CHANGES, an open that only reads does not.
enum wanted { NOT_WANTED, IF_IT_CHANGES, ALWAYS };

// A thread of the program, and the call that it is in.
struct thread {
  pid_t id;
  int awaits_exit;
  const struct call *call;
  unsigned long long arguments[6];
  int is_hit;
  char path[PATH_MAX], to_path[PATH_MAX];
  long changed_address, changed_value;  // a length in its memory that is put back afterwards
  long offset;                          // where the call writes
};

enum action { NOTHING, KILL, KILL_AFTER, KILL_IN_THE_MIDDLE, FAIL, FAIL_AFTER, SHORTEN };
enum { MAXIMUM_ROOTS = 16, MAXIMUM_CALLS = 128 };

struct options {
  char *roots[MAXIMUM_ROOTS];
  int root_count;
  const char *set, *status;
  long at, count, seconds;
  enum action action;
  int error;
  long short_bytes;
};

// How many calls were counted and faulted, and the first of the faulted ones.
struct hits {
  long points, count;
  char call[64], path[PATH_MAX];
};

// faultrun.c
extern struct options options;
extern enum wanted wanted[MAXIMUM_CALLS];
extern struct hits hits;
struct thread *thread_of(pid_t id);
void kill_all(void);

// faults.c
int on_enter(pid_t id);
void on_leave(struct thread *thread);

// calls.c
extern const struct call calls[];
extern const int call_count;
const struct call *find_call(long number);
enum wanted choose(const struct call *call, const char *set);
int error_named(const char *name);
int is_plain_write(const struct call *call);
int is_vector_write(const struct call *call);
int is_open(const struct call *call);

// tracee.c
ssize_t read_memory(pid_t thread, unsigned long address, void *buffer, size_t count);
int read_string(pid_t thread, unsigned long address, char *buffer, size_t count);
void descriptor_path(pid_t thread, int descriptor, char *path);
void path_at(pid_t thread, int directory, unsigned long address, char *path);
int stat_descriptor(pid_t thread, long descriptor, struct stat *status);
long write_offset(pid_t thread, int descriptor);

// record.c
void open_record(const char *folder);
void close_record(void);
int is_recording(void);
void record_call(struct thread *thread, long result);
void record_failed_sync(struct thread *thread);

#endif
