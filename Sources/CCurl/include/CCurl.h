// What Swift cannot call of libcurl: its variadic functions, one shim for each type of argument,
// and the options whose name depends on the version of libcurl.
#ifndef OFFLINECACHE_CCURL_H
#define OFFLINECACHE_CCURL_H

#include <curl/curl.h>
#include <stddef.h>

// The callbacks of CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION have this one shape.
typedef size_t (*occurl_data_callback)(char *bytes, size_t size, size_t count, void *context);

// The callback of CURLOPT_PREREQFUNCTION: the connection stands, the request is about to be sent.
typedef int (*occurl_connected_callback)(
    void *context, char *primary_ip, char *local_ip, int primary_port, int local_port);

// curl_easy_setopt(3), by the type of the value.
CURLcode occurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode occurl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode occurl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode occurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode occurl_set_write_callback(CURL *handle, occurl_data_callback callback, void *context);
CURLcode occurl_set_header_callback(CURL *handle, occurl_data_callback callback, void *context);
CURLcode occurl_set_connected_callback(
    CURL *handle, occurl_connected_callback callback, void *context);

// Allows http and https and nothing else, for the first request and for every redirect.
CURLcode occurl_allow_only_http(CURL *handle);

// Has a transfer that goes away while its name is being looked up not wait for the look-up.
// CURLE_UNKNOWN_OPTION where libcurl is older than 7.87.
CURLcode occurl_set_quick_exit(CURL *handle);

// curl_easy_getinfo(3), by the type of the value. A string lives as long as the handle.
CURLcode occurl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode occurl_get_string(CURL *handle, CURLINFO info, const char **value);
CURLcode occurl_get_pointer(CURL *handle, CURLINFO info, void **value);

// curl_multi_setopt(3) for numbers.
CURLMcode occurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

// Reads the next finished transfer from curl_multi_info_read(3), whose result is a union.
// Returns its handle, or NULL when there is none, and its code in *code.
CURL *occurl_multi_next_finished(CURLM *multi, CURLcode *code);

// CURL_WRITEFUNC_PAUSE, CURL_GLOBAL_DEFAULT and CURLPAUSE_CONT, which are macros with casts.
extern const size_t occurl_write_pause;
extern const long occurl_global_default;
extern const int occurl_pause_continue;

#endif
