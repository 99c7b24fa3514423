#include "CCurl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

// Linux distributions build libcurl with the system's OpenSSL; elsewhere pins are never met.
#ifdef __linux__
#define OCCURL_OPENSSL 1
#include <openssl/ssl.h>
#include <openssl/x509.h>
#endif

const size_t occurl_read_pause = CURL_READFUNC_PAUSE;
const size_t occurl_read_abort = CURL_READFUNC_ABORT;
const long occurl_global_default = CURL_GLOBAL_DEFAULT;
const curl_socket_t occurl_socket_bad = CURL_SOCKET_BAD;
const long occurl_header_separate = CURLHEADER_SEPARATE;
const int occurl_pause_receive = CURLPAUSE_RECV;
const int occurl_pause_send = CURLPAUSE_SEND;

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

static curl_socket_t occurl_opening(
    void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  curl_socket_t opened = socket(address->family, address->socktype, address->protocol);
  *(int *)context = opened == CURL_SOCKET_BAD ? errno : 0;
  if (opened != CURL_SOCKET_BAD) (void)fcntl(opened, F_SETFD, FD_CLOEXEC);
  return opened;
}

CURLcode occurl_open_sockets(CURL *handle, int *error) {
  return occurl_set_open_callback(handle, occurl_opening, error);
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
static X509 *occurl_peer(CURL *handle) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL)
    return NULL;
  if (session->backend != CURLSSLBACKEND_OPENSSL || session->internals == NULL) return NULL;
  return SSL_get1_peer_certificate((SSL *)session->internals);
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
