// What Swift cannot call of libmicrohttpd: its variadic functions; and what is a walk over its
// pointers, so that there is one place that holds them.
#ifndef OFFLINECACHE_CMICROHTTPD_H
#define OFFLINECACHE_CMICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/// What the server is told, and the context it is told with.
struct ocmhd_callbacks {
  void *context;
  /// A connection came. What it returns is kept with the connection.
  void *(*connected)(void *context, struct MHD_Connection *connection);
  /// A connection ends; `state` is what `connected` returned.
  void (*disconnected)(void *context, void *state);
  /// A request line came; `target` is as on the wire, but for what follows a NUL. What it returns
  /// is kept with the request.
  void *(*began)(void *context, struct MHD_Connection *connection, const char *target,
                 size_t count);
  /// A request has a head, a piece of body, or an end; as MHD_AccessHandlerCallback.
  enum MHD_Result (*proceed)(void *request, struct MHD_Connection *connection, const char *method,
                             const char *version, const char *data, size_t *count);
  /// A request has ended; what `began` returned is not used again.
  void (*ended)(void *context, struct MHD_Connection *connection, void *request,
                enum MHD_RequestTerminationCode code);
};

struct ocmhd_configuration {
  int listener;                 // a listening socket; it is the daemon's from now on
  unsigned thread_count;
  unsigned connection_limit;
  unsigned idle_seconds;        // without a byte from or to the client
  size_t connection_memory;     // for the head of a request, and for that of its answer
  struct ocmhd_callbacks callbacks;
};

/// Starts a daemon; NULL on failure. It lives until ocmhd_stop.
struct ocmhd_server *ocmhd_start(const struct ocmhd_configuration *configuration);
/// Accepts no more connections: who comes is refused. To be called once at most.
void ocmhd_quiesce(struct ocmhd_server *server);
/// Ends all connections and threads. No connection may be suspended.
void ocmhd_stop(struct ocmhd_server *server);

/// One field line, as it lies in the connection's memory while the request lasts. White space
/// behind the value is still there.
struct ocmhd_field {
  const char *name;
  size_t name_count;
  const char *value;
  size_t value_count;
};

/// Gives the fields of a request's head, `capacity` of them at most, and returns how many there are.
///
/// `is_exact` becomes 0 where the bytes between them are not those of a plain head (RFC 9112,
/// section 2.2): a line folded or ended by a bare LF, a NUL. The library up to 0.9.77 reads over
/// them; from 1.0 on it refuses them itself. `target` and `target_count` are those of `began`.
size_t ocmhd_fields(struct MHD_Connection *connection, const char *method, uintptr_t target,
                    size_t target_count, const char *version, struct ocmhd_field *fields,
                    size_t capacity, int *is_exact);

/// Returns the connection's socket, or -1.
int ocmhd_socket(struct MHD_Connection *connection);
/// Has the server read once more if the client has sent the last of its bytes. To be called where some
/// have been read: the library is told of bytes and of their end at the same time, once, and does not
/// read to that end.
void ocmhd_notice_end(struct MHD_Connection *connection);
/// Returns what `connected` returned, or NULL.
void *ocmhd_connection_state(struct MHD_Connection *connection);
/// Writes the client's numeric address with its NUL; writes "" where there is none.
void ocmhd_client_address(struct MHD_Connection *connection, char *text, size_t capacity);

/// Returns the status of the answer that was handed to the library, or that the library made itself;
/// 0 where there is none.
unsigned ocmhd_status(struct MHD_Connection *connection);

/// Ends the connection with the response, and sends it without chunks.
void ocmhd_end_with(struct MHD_Response *response);

/// Adds field lines to a response: name, NUL, value, NUL, and so on, `count` bytes in all.
/// Returns 0 where one was not taken.
int ocmhd_add_fields(struct MHD_Response *response, const char *lines, size_t count);

#endif
