// The parts of libmicrohttpd that Swift cannot call, because they are variadic, and the walk over
// its pointers, so that they are used in one place only.
#ifndef OFFLINECACHE_CMICROHTTPD_H
#define OFFLINECACHE_CMICROHTTPD_H

#include "Authority.h"
#include "Certificates.h"
#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/// The callbacks of the server, and the context that is passed to them.
struct ocmhd_callbacks {
  void *context;
  /// A connection was accepted. The returned pointer is kept with the connection.
  void *(*connected)(void *context, struct MHD_Connection *connection);
  /// A connection ends; `state` is the pointer that `connected` returned.
  void (*disconnected)(void *context, void *state);
  /// A request line was received; `target` is as received, up to a NUL. The returned pointer is
  /// kept with the request.
  void *(*began)(void *context, struct MHD_Connection *connection, const char *target,
                 size_t count);
  /// The head of a request was received, or a piece of its body, or its end; see
  /// MHD_AccessHandlerCallback.
  enum MHD_Result (*proceed)(void *request, struct MHD_Connection *connection, const char *method,
                             const char *version, const char *data, size_t *count);
  /// A request has ended; the pointer that `began` returned is not used again.
  void (*ended)(void *context, struct MHD_Connection *connection, void *request,
                enum MHD_RequestTerminationCode code);
};

struct ocmhd_configuration {
  int is_encrypted;             // whether clients use TLS; see Certificates.h
  unsigned thread_count;
  unsigned connection_limit;
  unsigned idle_seconds;        // the longest time without a byte from or to the client
  size_t connection_memory;     // for the head of a request, and for that of its response
  struct ocmhd_callbacks callbacks;
};

/// Starts the threads; returns NULL on failure. They run until ocmhd_stop.
///
/// Connections are accepted by the caller: MHD_quiesce_daemon of 0.9.75 can abort the program when
/// one of its threads removes the listening socket at the same moment.
struct ocmhd_server *ocmhd_start(const struct ocmhd_configuration *configuration);
/// accept(2); returns a descriptor that does not wait and is not inherited, or a negative errno.
int ocmhd_accept(int listener, void *address, unsigned *length);
/// Takes over a connection that was accepted, on one of the threads in turn. Returns 0 if that
/// fails; the connection is then closed.
int ocmhd_add(struct ocmhd_server *server, int socket, const void *address, unsigned length);
/// Ends all connections and threads. No connection may be suspended.
void ocmhd_stop(struct ocmhd_server *server);

/// One field line, in the memory of the connection, which is valid as long as the request. White
/// space after the value is included.
struct ocmhd_field {
  const char *name;
  size_t name_count;
  const char *value;
  size_t value_count;
};

/// Copies the fields of a request's head, at most `capacity` of them, and returns their number.
///
/// `is_exact` becomes 0 if the bytes between them are not those of a plain head (RFC 9112, section
/// 2.2): a line that is folded or ends with a bare LF, a NUL. The library up to 0.9.77 accepts
/// them; from 1.0 on it refuses them itself. `target` and `target_count` are those of `began`.
size_t ocmhd_fields(struct MHD_Connection *connection, const char *method, uintptr_t target,
                    size_t target_count, const char *version, struct ocmhd_field *fields,
                    size_t capacity, int *is_exact);

/// Returns the connection's socket, or -1.
int ocmhd_socket(struct MHD_Connection *connection);
/// Makes the server read once more if the client has sent the last of its bytes. Must be called
/// after bytes have been read: the library is notified of bytes and of their end at the same time,
/// only once, and does not read up to the end. From any thread, as long as the socket is open: so it
/// is not told the connection, whose facts libmicrohttpd 1.0 has in one place for all callers.
void ocmhd_notice_end(int socket);
/// Returns 0 if the client may send more (always, on systems that cannot tell), 1 if it has finished
/// sending or has left, 2 if it has left.
int ocmhd_client_end(struct MHD_Connection *connection);
/// Returns the pointer that `connected` returned, or NULL.
void *ocmhd_connection_state(struct MHD_Connection *connection);
/// Returns the address of the client, which is valid as long as the connection, or NULL.
const struct sockaddr *ocmhd_client_address(struct MHD_Connection *connection);

/// Returns the status of the response that was queued, or that the library created itself; 0 if
/// there is none.
unsigned ocmhd_status(struct MHD_Connection *connection);

/// Creates a response with the status 101. The handler gets the socket after it has been sent; see
/// MHD_UpgradeHandler. The socket must be given back by ocmhd_end_upgrade.
struct MHD_Response *ocmhd_upgrade(MHD_UpgradeHandler handler, void *context);
/// Sends the head of the answer that is queued next together with the beginning of its body, if the
/// connection has TLS. Must be called on the thread of the connection, for a body in memory.
void ocmhd_join(struct MHD_Connection *connection);
/// Returns the TLS session of a connection, or NULL. While the connection is suspended, the library
/// does not use it.
void *ocmhd_session(struct MHD_Connection *connection);
/// Reads from a TLS session or writes to it, without waiting. Returns the number of bytes, 0 at the
/// end, -1 if nothing can be done now, and -2 if the connection is lost. After a write has returned
/// -1, the next one must begin with the same bytes; `is_retry` is nonzero then.
ptrdiff_t ocmhd_session_read(void *session, void *bytes, size_t count);
ptrdiff_t ocmhd_session_write(void *session, const void *bytes, size_t count, int is_retry);
/// Tells the client that no more bytes follow. Returns 0, or -1 or -2 like the functions above; after
/// -1 it must be called again.
ptrdiff_t ocmhd_session_finish(void *session);

/// Ends a connection whose protocol was switched, and closes its socket.
void ocmhd_end_upgrade(struct MHD_UpgradeResponseHandle *handle);

/// Ends the connection after the response, and sends the response without chunks.
void ocmhd_end_with(struct MHD_Response *response);

/// Adds field lines to a response: name, NUL, value, NUL, and so on, `count` bytes in all.
void ocmhd_add_fields(struct MHD_Response *response, const char *lines, size_t count);

#endif
