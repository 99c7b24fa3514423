#include "cloadingqueue.h"

#include <stddef.h>

#if defined(__linux__)

// Exported by libdispatch; deprecated in its header because the answer is no reason to believe that
// other queues are not held, too. Here it is only asked where a callback of URLProtocol runs.
void *dispatch_get_current_queue(void);
void dispatch_retain(void *object);
void dispatch_release(void *object);
void dispatch_async_f(void *queue, void *context, void (*work)(void *));

void *clq_retain_current(void) {
  void *queue = dispatch_get_current_queue();
  if (queue) dispatch_retain(queue);
  return queue;
}

void clq_release(void *queue) { dispatch_release(queue); }

void clq_async(void *queue, void *context, void (*work)(void *)) {
  dispatch_async_f(queue, context, work);
}

#else

// Apple's URLProtocol is told on its thread, not on a queue.
void *clq_retain_current(void) { return NULL; }
void clq_release(void *queue) { (void)queue; }
void clq_async(void *queue, void *context, void (*work)(void *)) {
  (void)queue;
  work(context);
}

#endif
