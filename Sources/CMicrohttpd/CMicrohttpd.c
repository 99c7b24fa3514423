#define _GNU_SOURCE
#include "CMicrohttpd.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct ocmhd_server {
  struct MHD_Daemon **daemons;  // one for each thread
  unsigned count;
  atomic_uint next;
  struct ocmhd_callbacks callbacks;
};

/// Leaves the escapes of the target as they are: the target is passed on as it was received.
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

static void *begin(void *context, const char *target, struct MHD_Connection *connection) {
  struct ocmhd_server *server = context;
  void *request = server->callbacks.began(
      server->callbacks.context, connection, target, strlen(target));
  // The library would create a record of each parameter of the query. Nobody reads them, and they
  // use its memory: a query of 30 KB could fill it. The text belongs to the connection and is not
  // read again, so the query is cut off here.
  char *query = strchr((char *)target, '?');
  if (query != NULL) query[1] = 0;
  return request;
}

static enum MHD_Result proceed(
    void *context, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *data, size_t *count, void **request) {
  (void)url;
  struct ocmhd_server *server = context;
  return server->callbacks.proceed(*request, connection, method, version, data, count);
}

static void end(
    void *context, struct MHD_Connection *connection, void **request,
    enum MHD_RequestTerminationCode code) {
  struct ocmhd_server *server = context;
  if (*request == NULL) return;
  server->callbacks.ended(server->callbacks.context, connection, *request, code);
  *request = NULL;
}

/// The socket whose next record is followed by another one at once; -1 for none.
static _Thread_local int joined_socket = -1;

/// Sends records of TLS. The library sends the head and the body of an answer as two records; the
/// system sends them as one.
static ssize_t push(gnutls_transport_ptr_t transport, const giovec_t *parts, int count) {
  int socket = (int)(intptr_t)transport;
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
  int flags = MSG_NOSIGNAL;
#ifdef MSG_MORE
  if (joined_socket == socket) flags |= MSG_MORE;
#endif
  joined_socket = -1;
  return sendmsg(socket, &message, flags);
}

void ocmhd_join(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  joined_socket = info == NULL ? -1 : info->connect_fd;
}

static void change(
    void *context, struct MHD_Connection *connection, void **state,
    enum MHD_ConnectionNotificationCode code) {
  struct ocmhd_server *server = context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    void *session = ocmhd_session(connection);
    if (session != NULL) gnutls_transport_set_vec_push_function(session, push);
    *state = server->callbacks.connected(server->callbacks.context, connection);
  } else {
    server->callbacks.disconnected(server->callbacks.context, *state);
    *state = NULL;
  }
}

static struct MHD_Daemon *start_daemon(
    struct ocmhd_server *server, const struct ocmhd_configuration *configuration) {
  unsigned flags = MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK | MHD_USE_TURBO |
                   MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_UPGRADE | MHD_USE_NO_LISTEN_SOCKET;
  // With epoll, libmicrohttpd 0.9.75 does not wait for the client during a handshake with TLS, but
  // tries again and again: one silent client would keep a processor busy.
  int has_epoll = MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES;
  flags |= has_epoll && !configuration->is_encrypted ? MHD_USE_EPOLL : MHD_USE_POLL;
  struct MHD_OptionItem encryption[] = {
    {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, ocmhd_certificate_callback},
    // Without RSA key exchange, which has no forward secrecy, the key is used in one flight only.
    {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA"},
    {MHD_OPTION_END, 0, NULL},
  };
  if (configuration->is_encrypted) flags |= MHD_USE_TLS;
  return MHD_start_daemon(
      flags, 0, NULL, NULL, proceed, server,
      MHD_OPTION_ARRAY, configuration->is_encrypted ? encryption : encryption + 2,
      MHD_OPTION_CONNECTION_LIMIT, configuration->connection_limit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, configuration->connection_memory,
      MHD_OPTION_CONNECTION_TIMEOUT, configuration->idle_seconds,
      // Strict parsing closes the connection on a bad request line without a response. It checks
      // nothing else that ocmhd_fields and its caller do not check.
      MHD_OPTION_STRICT_FOR_CLIENT, 0,
      MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
      MHD_OPTION_URI_LOG_CALLBACK, begin, server,
      MHD_OPTION_NOTIFY_COMPLETED, end, server,
      MHD_OPTION_NOTIFY_CONNECTION, change, server,
      MHD_OPTION_END);
}

struct ocmhd_server *ocmhd_start(const struct ocmhd_configuration *configuration) {
  struct ocmhd_server *server = calloc(1, sizeof *server);
  if (server == NULL) return NULL;
  // The library ignores a pool of threads without a listener.
  unsigned wanted = configuration->thread_count;
  server->daemons = calloc(wanted, sizeof *server->daemons);
  server->callbacks = configuration->callbacks;
  while (server->daemons != NULL && server->count < wanted) {
    struct MHD_Daemon *daemon = start_daemon(server, configuration);
    if (daemon == NULL) break;
    server->daemons[server->count++] = daemon;
  }
  if (server->count == wanted && wanted > 0) return server;
  ocmhd_stop(server);
  return NULL;
}

int ocmhd_accept(int listener, void *address, unsigned *length) {
  socklen_t size = *length;
#ifdef __linux__
  int descriptor = accept4(listener, address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
  int descriptor = accept(listener, address, &size);
  if (descriptor >= 0) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
  }
#endif
  *length = (unsigned)size;
  return descriptor < 0 ? -errno : descriptor;
}

int ocmhd_add(struct ocmhd_server *server, int socket, const void *address, unsigned length) {
  unsigned number = atomic_fetch_add_explicit(&server->next, 1, memory_order_relaxed);
  return MHD_add_connection(
             server->daemons[number % server->count], socket, address, length) == MHD_YES;
}

void ocmhd_stop(struct ocmhd_server *server) {
  for (unsigned index = 0; index < server->count; index++)
    MHD_stop_daemon(server->daemons[index]);
  free(server->daemons);
  free(server);
}

struct field_walk {
  struct ocmhd_field *fields;
  size_t capacity;
  size_t count;
  const char *expected;  // where the next line must begin
  int is_exact;
};

static enum MHD_Result visit(
    void *context, enum MHD_ValueKind kind, const char *name, size_t name_count,
    const char *value, size_t value_count) {
  (void)kind;
  struct field_walk *walk = context;
  if (value == NULL) value = "", value_count = 0, walk->is_exact = 0;
  // In the received bytes a line is "name:value CR LF"; by now CR and LF are two NULs. White space
  // in front of the value is not part of it.
  if (name != walk->expected || value <= name + name_count ||
      (size_t)(value - name) - name_count - 1 !=
          strspn(name + name_count + 1, " \t"))
    walk->is_exact = 0;
  walk->expected = value + value_count + 2;
  if (walk->count < walk->capacity)
    walk->fields[walk->count] = (struct ocmhd_field){name, name_count, value, value_count};
  walk->count += 1;
  return MHD_YES;
}

size_t ocmhd_fields(
    struct MHD_Connection *connection, const char *method, uintptr_t target, size_t target_count,
    const char *version, struct ocmhd_field *fields, size_t capacity, int *is_exact) {
  struct field_walk walk = {fields, capacity, 0, version + strlen(version) + 2, 1};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, visit, &walk);
#if MHD_VERSION < 0x01000000
  // One space separates the words of the request line (RFC 9112, section 3).
  if ((uintptr_t)method + strlen(method) + 1 != target) walk.is_exact = 0;
  if (target + target_count + 1 != (uintptr_t)version) walk.is_exact = 0;
  // After the last line there is exactly one empty line.
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (info == NULL || method + info->header_size != walk.expected + 2) walk.is_exact = 0;
#else
  walk.is_exact = 1;
#endif
  *is_exact = walk.is_exact;
  return walk.count;
}

int ocmhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

void ocmhd_notice_end(int socket) {
#ifdef __linux__
  struct pollfd item = {.fd = socket, .events = POLLRDHUP};
  // Nothing more can be received, so this changes nothing, but it causes an event of epoll(7).
  // Received bytes that have not been read stay.
  if (poll(&item, 1, 0) > 0 && item.revents & POLLRDHUP) shutdown(item.fd, SHUT_RD);
#else
  // poll(2) reports the end each time it is called.
  (void)socket;
#endif
}

int ocmhd_client_end(struct MHD_Connection *connection) {
#ifdef __linux__
  struct pollfd item = {.fd = ocmhd_socket(connection), .events = POLLRDHUP};
  if (poll(&item, 1, 0) <= 0) return 0;
  return item.revents & (POLLERR | POLLHUP | POLLNVAL) ? 2 : 1;
#else
  (void)connection;
  return 0;
#endif
}

void *ocmhd_connection_state(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

unsigned ocmhd_status(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
  return info == NULL ? 0 : info->http_status;
}

const struct sockaddr *ocmhd_client_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

struct MHD_Response *ocmhd_upgrade(MHD_UpgradeHandler handler, void *context) {
  return MHD_create_response_for_upgrade(handler, context);
}

void *ocmhd_session(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info == NULL ? NULL : info->tls_session;
}

static ptrdiff_t transferred(ptrdiff_t result) {
  if (result >= 0) return result;
  return result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED ? -1 : -2;
}

ptrdiff_t ocmhd_session_read(void *session, void *bytes, size_t count) {
  return transferred(gnutls_record_recv(session, bytes, count));
}

ptrdiff_t ocmhd_session_write(void *session, const void *bytes, size_t count, int is_retry) {
  return transferred(
      is_retry ? gnutls_record_send(session, NULL, 0) : gnutls_record_send(session, bytes, count));
}

ptrdiff_t ocmhd_session_finish(void *session) {
  return transferred(gnutls_bye(session, GNUTLS_SHUT_WR));
}

void ocmhd_end_upgrade(struct MHD_UpgradeResponseHandle *handle) {
  MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

void ocmhd_end_with(struct MHD_Response *response) {
  MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

void ocmhd_add_fields(struct MHD_Response *response, const char *lines, size_t count) {
  const char *end = lines + count;
  while (lines < end) {
    const char *name = lines;
    const char *value = name + strlen(name) + 1;
    MHD_add_response_header(response, name, value);
    lines = value + strlen(value) + 1;
  }
}
