// Runs a program and faults it at its n-th system call on files below given folders.
//
//   faultrun [--root DIR]... [--set mut|read|lock|all|name,...] [--at N] [--count N]
//            [--action none|kill|kill-after|kill-mid[=BYTES]|short[=BYTES]|error=ERRNO|
//                      error-after=ERRNO]
//            [--record DIR] [--status FILE] [--timeout SECONDS] -- program arguments
//
// The program may be in any language, static or dynamic: the kernel stops it at its calls (seccomp
// and ptrace). Calls are counted over all threads and child processes. Of --count calls from --at
// on each is faulted; 0 is all of them. `kill` ends the program before the call, `kill-after` after
// it, `kill-mid` in the middle of a write. `error` fails the call without doing it, `error-after`
// does it first. --record writes each call that changes something, and what goes to the standard
// output, to a folder. --status writes points=, hit=, exit=, signal=, call= and path= to a file.
//
// Exit status: that of the program, 128 and its signal, or 125 for a mistake in the arguments.

#include "faultrun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREAD_SLOTS = 65536, MISTAKE = 125 };

struct options options = {.set = "mut", .count = 1, .seconds = 60};
enum wanted wanted[MAXIMUM_CALLS];
struct hits hits;

static struct thread *threads[THREAD_SLOTS];
static pid_t program;

static void fail(const char *subject, const char *reason) {
  fprintf(stderr, "faultrun: %s: %s\n", subject, reason);
  exit(MISTAKE);
}

// Returns what is known of a thread.
struct thread *thread_of(pid_t id) {
  struct thread **slot = threads + id % THREAD_SLOTS;
  if (!*slot) *slot = calloc(1, sizeof **slot);
  (*slot)->id = id;
  return *slot;
}

// Kills the program and its children.
void kill_all(void) {
  kill(program, SIGKILL);
  for (int slot = 0; slot < THREAD_SLOTS; slot++)
    if (threads[slot] && threads[slot]->id) syscall(SYS_kill, threads[slot]->id, SIGKILL);
}

static void on_alarm(int number) {
  (void)number;
  kill_all();
}

static void set_action(const char *text) {
  const char *value = strchr(text, '=');
  size_t length = value ? (size_t)(value - text) : strlen(text);
  static const struct {
    const char *name;
    enum action action;
  } names[] = {{"none", NOTHING},   {"kill", KILL},   {"kill-after", KILL_AFTER},
               {"error", FAIL},     {"short", SHORTEN}, {"kill-mid", KILL_IN_THE_MIDDLE},
               {"error-after", FAIL_AFTER}};
  unsigned place = 0, count = sizeof names / sizeof *names;
  while (place < count &&
         (strlen(names[place].name) != length || strncmp(names[place].name, text, length)))
    place++;
  if (place == count) fail(text, "there is no such action");
  options.action = names[place].action;
  if (options.action == FAIL || options.action == FAIL_AFTER) {
    options.error = value ? error_named(value + 1) : 0;
    if (!options.error) fail(text, "there is no such error");
  } else if (value) {
    options.short_bytes = atol(value + 1);
  }
}

static void set_option(const char *name, const char *value) {
  if (!strcmp(name, "--root")) {
    if (options.root_count == MAXIMUM_ROOTS) fail(value, "there are too many roots");
    char *path = options.roots[options.root_count++] = realpath(value, NULL);
    if (!path) fail(value, strerror(errno));
  } else if (!strcmp(name, "--set")) options.set = value;
  else if (!strcmp(name, "--at")) options.at = atol(value);
  else if (!strcmp(name, "--count")) options.count = atol(value);
  else if (!strcmp(name, "--action")) set_action(value);
  else if (!strcmp(name, "--record")) open_record(value);
  else if (!strcmp(name, "--status")) options.status = value;
  else if (!strcmp(name, "--timeout")) options.seconds = atol(value);
  else fail(name, "there is no such option");
}

// Lets the kernel stop this process at the calls that are asked for, and runs the program in it.
static void run_program(char **arguments, int start) {
  char byte;
  if (read(start, &byte, 1) < 0) _exit(MISTAKE);
  struct sock_filter filter[2 * MAXIMUM_CALLS + 8];
  int count = 0;
#define STATEMENT(code, value) filter[count++] = (struct sock_filter)BPF_STMT(code, value)
#define JUMP(value, yes, no) \
  filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
  STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  JUMP(AUDIT_ARCH_X86_64, 1, 0);
  STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int place = 0; place < call_count; place++) {
    if (!wanted[place] && !(is_recording() && calls[place].groups & CHANGES)) continue;
    JUMP(calls[place].number, 0, 1);
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  }
  STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog all = {count, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all)) {
    perror("faultrun: seccomp(2)");
    _exit(MISTAKE);
  }
  execvp(arguments[0], arguments);
  perror(arguments[0]);
  _exit(127);
}

static void start_program(char **arguments) {
  int start[2];
  if (pipe2(start, O_CLOEXEC)) fail("pipe2(2)", strerror(errno));
  signal(SIGALRM, on_alarm);
  program = fork();
  if (program < 0) fail("fork(2)", strerror(errno));
  if (!program) {
    close(start[1]);
    run_program(arguments, start[0]);
  }
  close(start[0]);
  long flags = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
               PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SEIZE, program, 0, flags)) fail("ptrace(2)", strerror(errno));
  if (options.seconds) alarm(options.seconds);
  if (write(start[1], "x", 1) != 1) fail("write(2)", strerror(errno));
}

// Returns whether a stop after a system call is really the one before it, as some kernels tell it.
static int is_entry(struct thread *thread) {
  struct user_regs_struct registers;
  ptrace(PTRACE_GETREGS, thread->id, 0, &registers);
  return thread->awaits_exit == 1 && !thread->is_hit && thread->call &&
         (long)registers.rax == -ENOSYS && thread->call->number == (int)registers.orig_rax;
}

static void on_stop(pid_t id, int status) {
  struct thread *thread = thread_of(id);
  int event = status >> 16, number = WSTOPSIG(status);
  if (event == PTRACE_EVENT_SECCOMP) {
    thread->awaits_exit = on_enter(id);
    ptrace(thread->awaits_exit ? PTRACE_SYSCALL : PTRACE_CONT, id, 0, 0);
  } else if (number == (SIGTRAP | 0x80)) {
    if (thread->awaits_exit && is_entry(thread)) {
      thread->awaits_exit = 2;
      ptrace(PTRACE_SYSCALL, id, 0, 0);
      return;
    }
    if (thread->awaits_exit) on_leave(thread);
    thread->awaits_exit = 0;
    ptrace(PTRACE_CONT, id, 0, 0);
  } else if (event == PTRACE_EVENT_STOP) {
    int stays = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    ptrace(stays ? PTRACE_LISTEN : PTRACE_CONT, id, 0, 0);
  } else if (event) {
    ptrace(PTRACE_CONT, id, 0, 0);
  } else {
    ptrace(thread->awaits_exit ? PTRACE_SYSCALL : PTRACE_CONT, id, 0, number);
  }
}

// Follows the program and its children to their end; returns the wait status of the program.
static int follow(void) {
  int result = 0, status;
  for (;;) {
    pid_t id = waitpid(-1, &status, __WALL);
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) return result;
    if (WIFSTOPPED(status)) {
      on_stop(id, status);
    } else {
      thread_of(id)->id = 0;
      if (id == program) result = status;
    }
  }
}

int main(int count, char **arguments) {
  int place = 1;
  for (; place < count && strcmp(arguments[place], "--"); place += 2) {
    if (place + 1 == count) fail(arguments[place], "the value is missing");
    set_option(arguments[place], arguments[place + 1]);
  }
  if (place + 1 >= count) fail("-- program", "there is nothing to run");
  for (int call = 0; call < call_count; call++) wanted[call] = choose(calls + call, options.set);
  start_program(arguments + place + 1);
  int result = follow();
  close_record();
  int number = WIFSIGNALED(result) ? WTERMSIG(result) : 0;
  int code = WIFEXITED(result) ? WEXITSTATUS(result) : 0;
  FILE *file = options.status ? fopen(options.status, "we") : NULL;
  if (file) {
    fprintf(
        file, "points=%ld hit=%ld exit=%d signal=%d call=%s path=%s\n", hits.points, hits.count,
        code, number, hits.call, hits.path);
    fclose(file);
  }
  return number ? 128 + number : code;
}
