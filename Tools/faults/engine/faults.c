// Decides which calls of the program are faulted, and faults them.

#include "faultrun.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

// Returns whether a path is below one of the folders; without any, whether it is a file at all.
static int is_below_root(const char *path) {
  for (int place = 0; place < options.root_count; place++) {
    size_t length = strlen(options.roots[place]);
    if (!strncmp(path, options.roots[place], length) && (path[length] == '/' || !path[length]))
      return 1;
  }
  return !options.root_count && path[0] == '/' && strncmp(path, "/proc", 5) &&
         strncmp(path, "/dev", 4) && strncmp(path, "/sys", 4);
}

static void find_paths(struct thread *thread) {
  const struct call *call = thread->call;
  unsigned long long *arguments = thread->arguments;
  thread->path[0] = thread->to_path[0] = 0;
  if (call->shape & BY_FD) descriptor_path(thread->id, arguments[call->first], thread->path);
  if (call->shape & BY_PATH) path_at(thread->id, AT_FDCWD, arguments[call->first], thread->path);
  if (call->shape & BY_AT_PATH)
    path_at(thread->id, arguments[call->first], arguments[call->first + 1], thread->path);
  if (call->shape & TO_PATH)
    path_at(thread->id, AT_FDCWD, arguments[call->second], thread->to_path);
  if (call->shape & TO_AT_PATH)
    path_at(thread->id, arguments[call->second], arguments[call->second + 1], thread->to_path);
}

// Returns whether an open creates or empties a file.
static int open_changes(struct thread *thread) {
  unsigned long long *arguments = thread->arguments, flags = O_CREAT;
  if (thread->call->number == SYS_openat) flags = arguments[2];
  if (thread->call->number == SYS_open) flags = arguments[1];
  if (thread->call->number == SYS_openat2) read_memory(thread->id, arguments[2], &flags, 8);
  return flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
}

// Returns whether a mmap shares a file for writing.
static int mmap_changes(struct thread *thread) {
  int kind = thread->arguments[3] & 0xf;
  return (int)thread->arguments[4] >= 0 && (kind == MAP_SHARED || kind == MAP_SHARED_VALIDATE) &&
         thread->arguments[2] & PROT_WRITE;
}

// Notes where a call is going to write.
static void find_offset(struct thread *thread) {
  unsigned long long *arguments = thread->arguments;
  switch (thread->call->number) {
  case SYS_pwrite64:
  case SYS_pwritev: thread->offset = arguments[3]; break;
  case SYS_pwritev2:
    thread->offset =
        (long)arguments[3] >= 0 ? (long)arguments[3] : write_offset(thread->id, arguments[0]);
    break;
  case SYS_write:
  case SYS_writev:
  case SYS_sendfile: thread->offset = write_offset(thread->id, arguments[0]); break;
  case SYS_copy_file_range:
    thread->offset = 0;
    if (arguments[3]) read_memory(thread->id, arguments[3], &thread->offset, 8);
    else thread->offset = write_offset(thread->id, arguments[2]);
    break;
  }
}

// Returns a length of two or more, shortened.
static unsigned long long shortened(unsigned long long length) {
  if (options.short_bytes <= 0) return length / 2;
  return (unsigned long long)options.short_bytes < length ? (unsigned long long)options.short_bytes
                                                          : length - 1;
}

// Shortens the transfer of a call. Returns whether it could.
static int shorten(struct thread *thread, struct user_regs_struct *registers, int reads_too) {
  const struct call *call = thread->call;
  int reads = call->number == SYS_read || call->number == SYS_pread64;
  int reads_vectors = call->number == SYS_readv || call->number == SYS_preadv;
  struct iovec vector;
  if ((is_plain_write(call) || (reads_too && reads)) && registers->rdx > 1) {
    registers->rdx = shortened(registers->rdx);
  } else if (is_vector_write(call) || (reads_too && reads_vectors)) {
    if (registers->rdx > 1) {
      registers->rdx /= 2;
    } else {
      if (registers->rdx != 1 ||
          read_memory(thread->id, registers->rsi, &vector, sizeof vector) <= 0 ||
          vector.iov_len <= 1)
        return 0;
      thread->changed_address = registers->rsi + offsetof(struct iovec, iov_len);
      thread->changed_value = vector.iov_len;
      ptrace(PTRACE_POKEDATA, thread->id, thread->changed_address, vector.iov_len / 2);
      return 1;
    }
  } else if (reads_too && call->number == SYS_copy_file_range && registers->r8 > 1) {
    registers->r8 /= 2;
  } else if (reads_too && call->number == SYS_sendfile && registers->r10 > 1) {
    registers->r10 /= 2;
  } else {
    return 0;
  }
  ptrace(PTRACE_SETREGS, thread->id, 0, registers);
  return 1;
}

// Lets a call fail without being done.
static void refuse(struct thread *thread, struct user_regs_struct *registers) {
  int number = thread->call->number;
  if (is_recording() && (number == SYS_fsync || number == SYS_fdatasync))
    record_failed_sync(thread);
  registers->orig_rax = -1;
  registers->rax = -options.error;
  ptrace(PTRACE_SETREGS, thread->id, 0, registers);
}

// Faults a call before it runs. Returns whether the thread is to be stopped after it, too.
static int fault(struct thread *thread, struct user_regs_struct *registers) {
  if (!hits.count) {
    snprintf(hits.call, sizeof hits.call, "%s", thread->call->name);
    strcpy(hits.path, thread->to_path[0] ? thread->to_path : thread->path);
  }
  thread->is_hit = 1;
  switch (options.action) {
  case KILL:
    hits.count++;
    kill_all();
    return 0;
  case KILL_AFTER:
  case FAIL_AFTER: return 1;
  case FAIL:
    hits.count++;
    refuse(thread, registers);
    return 0;
  case KILL_IN_THE_MIDDLE:
    thread->is_hit = shorten(thread, registers, 0);
    return thread->is_hit || is_recording();
  case SHORTEN:
    if (shorten(thread, registers, 1)) hits.count++;
    return thread->changed_address != 0 || is_recording();
  case NOTHING: break;
  }
  return is_recording();
}

// Looks at a call that begins. Returns whether the thread is to be stopped at its end.
int on_enter(pid_t id) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, id, 0, &registers)) return 0;
  const struct call *call = find_call(registers.orig_rax);
  if (!call) return 0;
  struct thread *thread = thread_of(id);
  thread->call = call;
  thread->is_hit = thread->changed_address = 0;
  unsigned long long arguments[] = {registers.rdi, registers.rsi, registers.rdx,
                                    registers.r10, registers.r8,  registers.r9};
  memcpy(thread->arguments, arguments, sizeof arguments);
  if (call->number == SYS_mmap && !mmap_changes(thread)) return 0;
  find_paths(thread);
  int is_output = is_recording() && (call->number == SYS_write || call->number == SYS_writev) &&
                  registers.rdi == 1;
  int is_ours =
      is_below_root(thread->path) || (thread->to_path[0] && is_below_root(thread->to_path));
  if (!is_ours && !is_output && call->number != SYS_msync) return 0;
  enum wanted choice = wanted[call - calls];
  if (is_open(call) && choice != ALWAYS && !open_changes(thread)) return is_recording();
  if (is_recording()) find_offset(thread);
  if (is_output && !is_ours) {
    strcpy(thread->path, "<ack>");
    return 1;
  }
  if (choice == NOT_WANTED) return is_recording();
  hits.points++;
  int is_hit = options.at && hits.points >= options.at &&
               (options.count == 0 || hits.points < options.at + options.count);
  return is_hit ? fault(thread, &registers) : is_recording();
}

// Looks at a call that has ended.
void on_leave(struct thread *thread) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, thread->id, 0, &registers)) return;
  if (thread->changed_address)
    ptrace(PTRACE_POKEDATA, thread->id, thread->changed_address, thread->changed_value);
  thread->changed_address = 0;
  if (thread->is_hit &&
      (options.action == KILL_AFTER || options.action == KILL_IN_THE_MIDDLE)) {
    hits.count++;
    kill_all();
    return;
  }
  if (thread->is_hit && options.action == FAIL_AFTER) {
    hits.count++;
    registers.rax = -options.error;
    ptrace(PTRACE_SETREGS, thread->id, 0, &registers);
  }
  if (is_recording() && thread->call) record_call(thread, registers.rax);
}
