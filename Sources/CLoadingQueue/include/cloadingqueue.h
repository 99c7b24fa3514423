// The dispatch queue on which a function runs. URLSession on Linux may be told of loaded data on its
// own work queue only (measured: anything else is a data race), and has no call that names it.
#ifndef CLOADINGQUEUE_H
#define CLOADINGQUEUE_H

/// Returns the queue on which the caller runs, retained; NULL where there is none.
void *clq_retain_current(void);
/// Releases a queue.
void clq_release(void *queue);
/// Runs `work` on a queue, later.
void clq_async(void *queue, void *context, void (*work)(void *context));

#endif
