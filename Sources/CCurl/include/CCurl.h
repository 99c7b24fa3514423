// What Swift cannot call of libcurl: its variadic functions, one shim for each type of argument,
// and the options whose name depends on the version of libcurl.
#ifndef OFFLINECACHE_CCURL_H
#define OFFLINECACHE_CCURL_H

#include <curl/curl.h>
#include <stddef.h>

// The callbacks of CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION have this
// one shape.
typedef size_t (*occurl_data_callback)(char *bytes, size_t size, size_t count, void *context);

// The callback of CURLOPT_PREREQFUNCTION: the connection stands, the request is about to be sent.
typedef int (*occurl_connected_callback)(
    void *context, char *primary_ip, char *local_ip, int primary_port, int local_port);

// The callback of CURLOPT_OPENSOCKETFUNCTION: returns a socket for the address, or CURL_SOCKET_BAD.
typedef curl_socket_t (*occurl_open_callback)(
    void *context, curlsocktype purpose, struct curl_sockaddr *address);

// The callback of CURLOPT_SEEKFUNCTION.
typedef int (*occurl_seek_callback)(void *context, curl_off_t offset, int origin);

// The callback of CURLOPT_CLOSESOCKETFUNCTION.
typedef int (*occurl_close_callback)(void *context, curl_socket_t socket);

// curl_easy_setopt(3), by the type of the value.
CURLcode occurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode occurl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
CURLcode occurl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode occurl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode occurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode occurl_set_write_callback(CURL *handle, occurl_data_callback callback, void *context);
CURLcode occurl_set_header_callback(CURL *handle, occurl_data_callback callback, void *context);
CURLcode occurl_set_read_callback(
    CURL *handle, occurl_data_callback callback, occurl_seek_callback seek, void *context);
CURLcode occurl_set_close_callback(CURL *handle, occurl_close_callback callback, void *context);
CURLcode occurl_set_connected_callback(
    CURL *handle, occurl_connected_callback callback, void *context);

CURLcode occurl_set_open_callback(CURL *handle, occurl_open_callback callback, void *context);

// The callback of CURLOPT_RESOLVER_START_FUNCTION: returns 0 if the name may be looked up.
typedef int (*occurl_look_up_callback)(void *resolver, void *reserved, void *context);

CURLcode occurl_set_look_up_callback(
    CURL *handle, occurl_look_up_callback callback, void *context);

// The callback of CURLOPT_XFERINFOFUNCTION, which is called about once a second: returns 0 if the
// transfer goes on.
typedef int (*occurl_progress_callback)(
    void *context, curl_off_t to_receive, curl_off_t received, curl_off_t to_send, curl_off_t sent);

CURLcode occurl_set_progress_callback(
    CURL *handle, occurl_progress_callback callback, void *context);

// More sockets than libcurl has open at once, to connect to one host.
#define OCCURL_SOCKETS 8

// The sockets that a transfer has opened. libcurl itself does not keep the error.
typedef struct {
  int error;       // the errno of the last one, or 0
  unsigned count;  // of all
  curl_socket_t sockets[OCCURL_SOCKETS];  // the last ones, in a ring
} occurl_opened;

// Has child processes not inherit the sockets, and writes them to `opened`, which has to outlive the
// handle.
CURLcode occurl_open_sockets(CURL *handle, occurl_opened *opened);

// Returns the socket that is connected between these addresses; CURL_SOCKET_BAD if none is.
curl_socket_t occurl_opened_socket(
    const occurl_opened *opened, const char *here, int here_port, const char *there,
    int there_port);

// Allows http and https and nothing else.
CURLcode occurl_allow_only_http(CURL *handle);

// Has the system take no more of a request's body than the way to the server does, beside 256
// KiB (TCP_NOTSENT_LOWAT): else it buffers megabytes, which takes minutes on a slow way, in silence.
CURLcode occurl_limit_unsent(CURL *handle);

// Has a transfer that goes away while its name is being looked up not wait for the look-up.
// CURLE_UNKNOWN_OPTION where libcurl is older than 7.87.
CURLcode occurl_set_quick_exit(CURL *handle);

// Has a connection closed if more bytes came with an answer without a body (to HEAD, 204, 304, or of
// length 0): their rest would answer the next request. libcurl 7.88 drops them, keeps the connection,
// and tells nobody but the callback for texts (CURLOPT_DEBUGFUNCTION): "Excess found: ...", since 7.30
// at least, unless it was built without texts (CURL_DISABLE_VERBOSE_STRINGS). Later versions, in which
// the bytes go through cw_download_write(), close the connection themselves.
CURLcode occurl_close_after_excess(CURL *handle);

// Makes a share (libcurl-share(3)) of cookies, for handles of one thread; NULL for want of memory.
CURLSH *occurl_share_cookies(void);

// curl_easy_getinfo(3), by the type of the value. A string lives as long as the handle.
CURLcode occurl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode occurl_get_string(CURL *handle, CURLINFO info, const char **value);
CURLcode occurl_get_socket(CURL *handle, CURLINFO info, curl_socket_t *value);

// The errno of the last connection that could not be made (CURLINFO_OS_ERRNO), or 0.
int occurl_system_error(CURL *handle);

// Whether the TLS library has bytes that libcurl has not read, on the connection that a transfer uses;
// -1 where nobody can tell. Of a proxy's TLS around that of a server, it cannot tell.
int occurl_has_tls_input(CURL *handle);

// Whether HTTP/2 was agreed on with TLS; -1 where nobody can tell, because libcurl does not use the
// OpenSSL of this build.
int occurl_speaks_http2(CURL *handle);

// Notes whether the server has ended a connection with the alert of TLS for that (close_notify). It
// lives longer than the connection.
typedef struct occurl_closure occurl_closure;

// Returns that of the connection that a transfer uses, to be released; NULL where nobody can tell, or
// the connection is not TLS.
occurl_closure *occurl_closure_of(CURL *handle);
int occurl_is_closed(const occurl_closure *closure);
void occurl_release_closure(occurl_closure *closure);

// The certificate of the server on the connection that a transfer uses, and the public key in it
// (SubjectPublicKeyInfo), in DER. Returns the length, and copies it where the capacity is enough; 0
// where there is none, the connection is not TLS, or libcurl does not use the OpenSSL of this build.
size_t occurl_peer_certificate(CURL *handle, unsigned char *der, size_t capacity);
size_t occurl_peer_public_key(CURL *handle, unsigned char *der, size_t capacity);

// curl_multi_setopt(3) for numbers.
CURLMcode occurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

// Reads the next finished transfer from curl_multi_info_read(3), whose result is a union.
// Returns its handle, or NULL when there is none, and its code in *code.
CURL *occurl_multi_next_finished(CURLM *multi, CURLcode *code);

// curl_global_init(CURL_GLOBAL_DEFAULT). OpenSSL then frees nothing at exit(3): other threads may be
// using it, or just ending, and what they free a second time would crash the process.
CURLcode occurl_global_init(void);

// CURL_READFUNC_PAUSE and CURL_READFUNC_ABORT, which are macros with casts.
extern const size_t occurl_read_pause;
extern const size_t occurl_read_abort;
// CURL_SOCKET_BAD, CURLHEADER_SEPARATE.
extern const curl_socket_t occurl_socket_bad;
extern const long occurl_header_separate;

// Bits of curl_easy_pause(3): CURLPAUSE_RECV and CURLPAUSE_SEND.
extern const int occurl_pause_receive;
extern const int occurl_pause_send;

#endif
