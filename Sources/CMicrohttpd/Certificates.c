#include "Certificates.h"

#include "Handshakes.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { chain_limit = 16, server_limit = 64 };

/// How long a replaced certificate is kept, in seconds. GnuTLS uses it within one flight of the
/// handshake, which fits into the buffer of a socket, so a second would do.
enum { keeping = 3600 };

struct certificate {
  gnutls_pcert_st chain[chain_limit];
  unsigned count;
  gnutls_privkey_t key;
  time_t replaced;  // when another one took its place
  struct certificate *older;
};

static struct {
  uint16_t port;
  struct certificate *newest;
} servers[server_limit];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static time_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

static void release(struct certificate *certificate) {
  while (certificate != NULL) {
    struct certificate *older = certificate->older;
    for (unsigned index = 0; index < certificate->count; index++)
      gnutls_pcert_deinit(&certificate->chain[index]);
    if (certificate->key != NULL) gnutls_privkey_deinit(certificate->key);
    free(certificate);
    certificate = older;
  }
}

/// Whether the key belongs to the first certificate.
static int fits(struct certificate *certificate) {
  unsigned char ids[2][64];
  size_t sizes[2] = {sizeof ids[0], sizeof ids[1]};
  gnutls_pubkey_t own;
  if (gnutls_pubkey_init(&own) != 0) return 0;
  int result =
      gnutls_pubkey_import_privkey(own, certificate->key, 0, 0) == 0 &&
      gnutls_pubkey_get_key_id(own, GNUTLS_KEYID_USE_SHA256, ids[0], &sizes[0]) == 0 &&
      gnutls_pubkey_get_key_id(
          certificate->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, ids[1], &sizes[1]) == 0 &&
      sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0;
  gnutls_pubkey_deinit(own);
  return result;
}

static int load(
    struct certificate *certificate, const gnutls_datum_t *chain, const gnutls_datum_t *key) {
  unsigned count = chain_limit;
  if (gnutls_pcert_list_import_x509_raw(
          certificate->chain, &count, chain, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_SORT) < 0)
    return 1;
  certificate->count = count;
  if (count == 0) return 1;
  if (gnutls_privkey_init(&certificate->key) != 0) return 4;
  if (gnutls_privkey_import_x509_raw(certificate->key, key, GNUTLS_X509_FMT_PEM, NULL, 0) != 0)
    return 2;
  return fits(certificate) ? 0 : 3;
}

/// Puts a certificate in front of those of its server; returns 0 if there are too many servers.
static int use(uint16_t port, struct certificate *certificate) {
  struct certificate *old = NULL;
  int place = -1;
  pthread_mutex_lock(&mutex);
  for (int index = 0; index < server_limit && (place < 0 || servers[place].port != port); index++)
    if (servers[index].port == port || (servers[index].port == 0 && place < 0)) place = index;
  if (place >= 0) {
    servers[place].port = port;
    certificate->older = servers[place].newest;
    servers[place].newest = certificate;
    if (certificate->older != NULL) certificate->older->replaced = now();
    // Those that were replaced long ago have no users.
    for (struct certificate *kept = certificate; kept->older != NULL; kept = kept->older) {
      if (now() - kept->older->replaced < keeping) continue;
      old = kept->older;
      kept->older = NULL;
      break;
    }
  }
  pthread_mutex_unlock(&mutex);
  release(old);
  return place >= 0;
}

int ocmhd_use_certificate(
    uint16_t port, const void *certificates, size_t certificates_count, const void *key,
    size_t key_count) {
  gnutls_datum_t chain_data = {(unsigned char *)certificates, (unsigned)certificates_count};
  gnutls_datum_t key_data = {(unsigned char *)key, (unsigned)key_count};
  struct certificate *certificate = calloc(1, sizeof *certificate);
  if (certificate == NULL) return 4;
  int error = load(certificate, &chain_data, &key_data);
  if (error == 0 && use(port, certificate)) return 0;
  release(certificate);
  return error != 0 ? error : 4;
}

void ocmhd_forget_certificates(uint16_t port) {
  struct certificate *old = NULL;
  pthread_mutex_lock(&mutex);
  for (int index = 0; index < server_limit; index++) {
    if (servers[index].port != port) continue;
    old = servers[index].newest;
    servers[index].port = 0;
    servers[index].newest = NULL;
  }
  pthread_mutex_unlock(&mutex);
  release(old);
}

/// Returns the port at which a connection was accepted; 0 if that is not known.
static uint16_t port_of(int socket) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return 0;
}

static int choose(
    gnutls_session_t session, const gnutls_datum_t *authorities, int authorities_count,
    const gnutls_pk_algorithm_t *algorithms, int algorithms_count, gnutls_pcert_st **chain,
    unsigned *count, gnutls_privkey_t *key) {
  (void)authorities, (void)authorities_count, (void)algorithms, (void)algorithms_count;
  int socket = gnutls_transport_get_int(session);
  int made = ocmhd_choose_made(session, socket, chain, count, key);
  if (made != 0) return made > 0 ? 0 : -1;
  uint16_t port = port_of(socket);
  int result = -1;
  pthread_mutex_lock(&mutex);
  for (int index = 0; index < server_limit && port != 0; index++) {
    struct certificate *newest = servers[index].newest;
    if (servers[index].port != port || newest == NULL) continue;
    *chain = newest->chain;
    *count = newest->count;
    *key = newest->key;
    result = 0;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

void *const ocmhd_certificate_callback = (void *)choose;
