#include "CCurl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// Linux distributions build libcurl with the system's OpenSSL; elsewhere pins are never met, and no
// HTTP/1 connection with TLS is used twice.
#ifdef __linux__
#define OCCURL_OPENSSL 1
#include <openssl/ssl.h>
#include <openssl/x509.h>
#endif

const size_t occurl_read_pause = CURL_READFUNC_PAUSE;
const size_t occurl_read_abort = CURL_READFUNC_ABORT;
const curl_socket_t occurl_socket_bad = CURL_SOCKET_BAD;
const long occurl_header_separate = CURLHEADER_SEPARATE;
const int occurl_pause_receive = CURLPAUSE_RECV;
const int occurl_pause_send = CURLPAUSE_SEND;

CURLcode occurl_global_init(void) {
#ifdef OCCURL_OPENSSL
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
#endif
  return curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURLcode occurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode occurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode occurl_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode occurl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode occurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode occurl_set_write_callback(CURL *handle, occurl_data_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}

CURLcode occurl_set_header_callback(CURL *handle, occurl_data_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
}

CURLcode occurl_set_read_callback(
    CURL *handle, occurl_data_callback callback, occurl_seek_callback seek, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, callback);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_SEEKDATA, context);
}

CURLcode occurl_set_close_callback(CURL *handle, occurl_close_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, context);
}

CURLcode occurl_set_open_callback(CURL *handle, occurl_open_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
}

CURLcode occurl_set_look_up_callback(
    CURL *handle, occurl_look_up_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_RESOLVER_START_FUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_RESOLVER_START_DATA, context);
}

CURLcode occurl_set_progress_callback(
    CURL *handle, occurl_progress_callback callback, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
}

static curl_socket_t occurl_opening(
    void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  occurl_opened *all = context;
  curl_socket_t opened = socket(address->family, address->socktype, address->protocol);
  all->error = opened == CURL_SOCKET_BAD ? errno : 0;
  if (opened == CURL_SOCKET_BAD) return opened;
  (void)fcntl(opened, F_SETFD, FD_CLOEXEC);
  all->sockets[all->count++ % OCCURL_SOCKETS] = opened;
  return opened;
}

CURLcode occurl_open_sockets(CURL *handle, occurl_opened *opened) {
  return occurl_set_open_callback(handle, occurl_opening, opened);
}

static int occurl_is_address(const struct sockaddr_storage *address, const char *text, int port) {
  char own[INET6_ADDRSTRLEN];
  const void *bytes;
  int number;
  if (address->ss_family == AF_INET) {
    bytes = &((const struct sockaddr_in *)address)->sin_addr;
    number = ntohs(((const struct sockaddr_in *)address)->sin_port);
  } else if (address->ss_family == AF_INET6) {
    bytes = &((const struct sockaddr_in6 *)address)->sin6_addr;
    number = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
  } else {
    return 0;
  }
  return number == port && inet_ntop(address->ss_family, bytes, own, sizeof own) != NULL
         && strcmp(own, text) == 0;
}

curl_socket_t occurl_opened_socket(
    const occurl_opened *opened, const char *here, int here_port, const char *there,
    int there_port) {
  unsigned count = opened->count < OCCURL_SOCKETS ? opened->count : OCCURL_SOCKETS;
  for (unsigned index = 0; index < count; index++) {
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t size = sizeof own, other_size = sizeof other;
    curl_socket_t candidate = opened->sockets[index];
    if (getsockname(candidate, (struct sockaddr *)&own, &size) == 0
        && getpeername(candidate, (struct sockaddr *)&other, &other_size) == 0
        && occurl_is_address(&own, here, here_port)
        && occurl_is_address(&other, there, there_port))
      return candidate;
  }
  return CURL_SOCKET_BAD;
}

CURLcode occurl_set_connected_callback(
    CURL *handle, occurl_connected_callback callback, void *context) {
#if LIBCURL_VERSION_NUM >= 0x075000
  CURLcode code = curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
#else
  (void)handle;
  (void)callback;
  (void)context;
  return CURLE_UNKNOWN_OPTION;
#endif
}

CURLcode occurl_allow_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static int occurl_connecting(void *context, curl_socket_t socket, curlsocktype purpose) {
  int bytes = 256 * 1024;
  (void)context, (void)purpose;
  // Where the system does not know the option, it buffers as it likes.
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
  return CURL_SOCKOPT_OK;
}

CURLcode occurl_limit_unsent(CURL *handle) {
  return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, occurl_connecting);
}

CURLcode occurl_set_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)handle;
  return CURLE_UNKNOWN_OPTION;
#endif
}

static int occurl_noting(
    CURL *handle, curl_infotype type, char *text, size_t length, void *context) {
  static const char excess[] = "Excess found";
  (void)context;
  if (type == CURLINFO_TEXT && length >= sizeof excess - 1
      && memcmp(text, excess, sizeof excess - 1) == 0)
    (void)curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L);
  return 0;
}

CURLcode occurl_close_after_excess(CURL *handle) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, occurl_noting);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
}

CURLcode occurl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

int occurl_system_error(CURL *handle) {
  long number = 0;
  return curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &number) == CURLE_OK ? (int)number : 0;
}

CURLcode occurl_get_string(CURL *handle, CURLINFO info, const char **value) {
  return curl_easy_getinfo(handle, info, value);
}

CURLcode occurl_get_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
  return curl_easy_getinfo(handle, info, value);
}

// The connection itself is asked, and not what libcurl notes of a handshake (CURLINFO_CERTINFO),
// which is empty for a transfer on a kept connection.
#ifdef OCCURL_OPENSSL
// Returns 0 where libcurl does not use OpenSSL; the connection is NULL where it has no TLS.
static int occurl_find_ssl(CURL *handle, SSL **ssl) {
  struct curl_tlssessioninfo *session = NULL;
  *ssl = NULL;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL
      || session->backend != CURLSSLBACKEND_OPENSSL)
    return 0;
  *ssl = session->internals;
  return 1;
}

static SSL *occurl_ssl(CURL *handle) {
  SSL *ssl;
  (void)occurl_find_ssl(handle, &ssl);
  return ssl;
}

int occurl_has_tls_input(CURL *handle) {
  SSL *ssl;
  if (!occurl_find_ssl(handle, &ssl)) return -1;
  return ssl != NULL && SSL_has_pending(ssl);
}

int occurl_speaks_http2(CURL *handle) {
  SSL *ssl;
  const unsigned char *name = NULL;
  unsigned length = 0;
  if (!occurl_find_ssl(handle, &ssl)) return -1;
  if (ssl != NULL) SSL_get0_alpn_selected(ssl, &name, &length);
  return length == 2 && memcmp(name, "h2", 2) == 0;
}

struct occurl_closure {
  int references;
  int isClosed;
};

void occurl_release_closure(occurl_closure *closure) {
  if (closure != NULL && __atomic_sub_fetch(&closure->references, 1, __ATOMIC_ACQ_REL) == 0)
    free(closure);
}

int occurl_is_closed(const occurl_closure *closure) { return closure->isClosed; }

static int occurl_closure_index = -1;

static void occurl_free_closure(
    void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
  (void)parent, (void)data, (void)index, (void)number, (void)pointer;
  occurl_release_closure(value);
}

static void occurl_make_closure_index(void) {
  occurl_closure_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, occurl_free_closure);
}

static void occurl_note_alert(const SSL *ssl, int where, int alert) {
  if ((where & SSL_CB_READ_ALERT) != SSL_CB_READ_ALERT) return;
  occurl_closure *closure = SSL_get_ex_data(ssl, occurl_closure_index);
  if (closure != NULL && (alert & 0xFF) == SSL_AD_CLOSE_NOTIFY) closure->isClosed = 1;
}

occurl_closure *occurl_closure_of(CURL *handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  SSL *ssl = occurl_ssl(handle);
  if (ssl == NULL || pthread_once(&once, occurl_make_closure_index) != 0) return NULL;
  if (occurl_closure_index < 0) return NULL;
  occurl_closure *closure = SSL_get_ex_data(ssl, occurl_closure_index);
  if (closure == NULL) {
    closure = calloc(1, sizeof *closure);
    if (closure == NULL) return NULL;
    closure->references = 1;
    if (SSL_set_ex_data(ssl, occurl_closure_index, closure) != 1) {
      free(closure);
      return NULL;
    }
    SSL_set_info_callback(ssl, occurl_note_alert);
  }
  (void)__atomic_add_fetch(&closure->references, 1, __ATOMIC_ACQ_REL);
  return closure;
}

static X509 *occurl_peer(CURL *handle) {
  SSL *ssl = occurl_ssl(handle);
  return ssl == NULL ? NULL : SSL_get1_peer_certificate(ssl);
}

static size_t occurl_copy(unsigned char *from, int length, unsigned char *der, size_t capacity) {
  if (length <= 0) return 0;
  if ((size_t)length <= capacity) memcpy(der, from, (size_t)length);
  OPENSSL_free(from);
  return (size_t)length;
}

size_t occurl_peer_certificate(CURL *handle, unsigned char *der, size_t capacity) {
  X509 *peer = occurl_peer(handle);
  if (peer == NULL) return 0;
  unsigned char *bytes = NULL;
  int length = i2d_X509(peer, &bytes);
  X509_free(peer);
  return occurl_copy(bytes, length, der, capacity);
}

size_t occurl_peer_public_key(CURL *handle, unsigned char *der, size_t capacity) {
  X509 *peer = occurl_peer(handle);
  if (peer == NULL) return 0;
  unsigned char *bytes = NULL;
  int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(peer), &bytes);
  X509_free(peer);
  return occurl_copy(bytes, length, der, capacity);
}
#else
int occurl_has_tls_input(CURL *handle) {
  (void)handle;
  return -1;
}

int occurl_speaks_http2(CURL *handle) {
  (void)handle;
  return -1;
}

occurl_closure *occurl_closure_of(CURL *handle) {
  (void)handle;
  return NULL;
}

void occurl_release_closure(occurl_closure *closure) { (void)closure; }

int occurl_is_closed(const occurl_closure *closure) {
  (void)closure;
  return 0;
}

size_t occurl_peer_certificate(CURL *handle, unsigned char *der, size_t capacity) {
  (void)handle, (void)der, (void)capacity;
  return 0;
}

size_t occurl_peer_public_key(CURL *handle, unsigned char *der, size_t capacity) {
  (void)handle, (void)der, (void)capacity;
  return 0;
}
#endif

CURLMcode occurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

CURL *occurl_multi_next_finished(CURLM *multi, CURLcode *code) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg == CURLMSG_DONE) {
      *code = message->data.result;
      return message->easy_handle;
    }
  }
  return NULL;
}

CURLSH *occurl_share_cookies(void) {
  CURLSH *share = curl_share_init();
  if (share == NULL) return NULL;
  if (curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE) == CURLSHE_OK) return share;
  curl_share_cleanup(share);
  return NULL;
}
