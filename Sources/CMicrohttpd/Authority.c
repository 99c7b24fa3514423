#include "Authority.h"

#include "Handshakes.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509-ext.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct ocmhd_authority {
  gnutls_x509_crt_t certificate;
  gnutls_x509_privkey_t key;
  gnutls_x509_privkey_t leaf_key;
};

struct ocmhd_leaf {
  gnutls_pcert_st certificate;
  gnutls_privkey_t key;
  atomic_uint users;
};

/// A socket whose handshake is expected.
struct handshake {
  struct ocmhd_leaf *leaf;
  char host[256];  // empty for an address
  enum ocmhd_handshake state;
};

/// By the number of the socket.
static struct handshake **handshakes;
static int handshake_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// MARK: Authorities

static int make_key(gnutls_x509_privkey_t *key) {
  if (gnutls_x509_privkey_init(key) != 0) return 0;
  unsigned curve = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
  if (gnutls_x509_privkey_generate(*key, GNUTLS_PK_ECDSA, curve, 0) == 0) return 1;
  gnutls_x509_privkey_deinit(*key);
  *key = NULL;
  return 0;
}

/// Sets what all certificates have: version, a random serial number, times, subject and key.
static int begin(
    gnutls_x509_crt_t certificate, const char *name, gnutls_x509_privkey_t key, time_t from,
    time_t to) {
  unsigned char serial[16], id[64];
  size_t id_size = sizeof id;
  if (gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial) != 0) return 0;
  // Positive, and without a leading zero byte.
  serial[0] = (serial[0] & 0x7f) | 0x40;
  return gnutls_x509_crt_set_version(certificate, 3) == 0 &&
         gnutls_x509_crt_set_serial(certificate, serial, sizeof serial) == 0 &&
         gnutls_x509_crt_set_activation_time(certificate, from) == 0 &&
         gnutls_x509_crt_set_expiration_time(certificate, to) == 0 &&
         gnutls_x509_crt_set_dn_by_oid(
             certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)) == 0 &&
         gnutls_x509_crt_set_key(certificate, key) == 0 &&
         gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA1, id, &id_size) == 0 &&
         gnutls_x509_crt_set_subject_key_id(certificate, id, id_size) == 0;
}

static int constrain(
    gnutls_x509_crt_t certificate, const char *const *hosts, size_t host_count) {
  gnutls_x509_name_constraints_t constraints;
  if (host_count == 0) return 1;
  if (gnutls_x509_name_constraints_init(&constraints) != 0) return 0;
  int done = 1;
  for (size_t index = 0; index < host_count && done; index++) {
    gnutls_datum_t name = {(unsigned char *)hosts[index], (unsigned)strlen(hosts[index])};
    done = gnutls_x509_name_constraints_add_permitted(
               constraints, GNUTLS_SAN_DNSNAME, &name) == 0;
  }
  done = done && gnutls_x509_crt_set_name_constraints(certificate, constraints, 1) == 0;
  gnutls_x509_name_constraints_deinit(constraints);
  return done;
}

int ocmhd_make_authority(
    const char *name, const char *const *hosts, size_t host_count, unsigned days,
    char *certificate_text, char *key_text, size_t capacity) {
  gnutls_x509_privkey_t key = NULL;
  gnutls_x509_crt_t certificate = NULL;
  size_t certificate_size = capacity, key_size = capacity;
  time_t now = time(NULL);
  int done =
      make_key(&key) && gnutls_x509_crt_init(&certificate) == 0 &&
      begin(certificate, name, key, now - 3600, now + (time_t)days * 86400) &&
      // No authority below it.
      gnutls_x509_crt_set_basic_constraints(certificate, 1, 0) == 0 &&
      gnutls_x509_crt_set_key_usage(
          certificate, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN) == 0 &&
      constrain(certificate, hosts, host_count) &&
      gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0) == 0 &&
      gnutls_x509_crt_export(
          certificate, GNUTLS_X509_FMT_PEM, certificate_text, &certificate_size) == 0 &&
      gnutls_x509_privkey_export_pkcs8(
          key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, key_text, &key_size) == 0;
  if (certificate != NULL) gnutls_x509_crt_deinit(certificate);
  if (key != NULL) gnutls_x509_privkey_deinit(key);
  return done;
}

/// Whether the key belongs to the certificate.
static int fits(struct ocmhd_authority *authority) {
  unsigned char ids[2][64];
  size_t sizes[2] = {sizeof ids[0], sizeof ids[1]};
  return gnutls_x509_crt_get_key_id(
             authority->certificate, GNUTLS_KEYID_USE_SHA256, ids[0], &sizes[0]) == 0 &&
         gnutls_x509_privkey_get_key_id(
             authority->key, GNUTLS_KEYID_USE_SHA256, ids[1], &sizes[1]) == 0 &&
         sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0;
}

static int read_authority(
    struct ocmhd_authority *authority, const gnutls_datum_t *certificate,
    const gnutls_datum_t *key) {
  if (gnutls_x509_crt_init(&authority->certificate) != 0) return 4;
  if (gnutls_x509_privkey_init(&authority->key) != 0) return 4;
  if (gnutls_x509_crt_import(authority->certificate, certificate, GNUTLS_X509_FMT_PEM) != 0 ||
      gnutls_x509_crt_get_ca_status(authority->certificate, NULL) <= 0)
    return 1;
  if (gnutls_x509_privkey_import2(authority->key, key, GNUTLS_X509_FMT_PEM, NULL, 0) != 0) return 2;
  if (!fits(authority)) return 3;
  return make_key(&authority->leaf_key) ? 0 : 4;
}

struct ocmhd_authority *ocmhd_read_authority(
    const void *certificate, size_t certificate_count, const void *key, size_t key_count,
    int *error) {
  gnutls_datum_t certificate_data = {(unsigned char *)certificate, (unsigned)certificate_count};
  gnutls_datum_t key_data = {(unsigned char *)key, (unsigned)key_count};
  struct ocmhd_authority *authority = calloc(1, sizeof *authority);
  *error = authority == NULL ? 4 : read_authority(authority, &certificate_data, &key_data);
  if (*error == 0) return authority;
  ocmhd_free_authority(authority);
  return NULL;
}

void ocmhd_free_authority(struct ocmhd_authority *authority) {
  if (authority == NULL) return;
  if (authority->certificate != NULL) gnutls_x509_crt_deinit(authority->certificate);
  if (authority->key != NULL) gnutls_x509_privkey_deinit(authority->key);
  if (authority->leaf_key != NULL) gnutls_x509_privkey_deinit(authority->leaf_key);
  free(authority);
}

int ocmhd_describe_authority(
    struct ocmhd_authority *authority, char *name, size_t capacity, unsigned char *sha256,
    int64_t *from, int64_t *to) {
  size_t size = 32;
  *from = gnutls_x509_crt_get_activation_time(authority->certificate);
  *to = gnutls_x509_crt_get_expiration_time(authority->certificate);
  return gnutls_x509_crt_get_dn_by_oid(
             authority->certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &capacity) == 0 &&
         gnutls_x509_crt_get_fingerprint(
             authority->certificate, GNUTLS_DIG_SHA256, sha256, &size) == 0;
}

int ocmhd_permitted_hosts(struct ocmhd_authority *authority, char *names, size_t capacity) {
  gnutls_x509_name_constraints_t constraints;
  gnutls_datum_t name;
  unsigned critical, type;
  size_t length = 0;
  int done = capacity > 0 && gnutls_x509_name_constraints_init(&constraints) == 0;
  if (!done) return 0;
  names[0] = 0;
  // Fails if there are none.
  int found = gnutls_x509_crt_get_name_constraints(
                  authority->certificate, constraints, 0, &critical) == 0;
  for (unsigned index = 0; found && done; index++) {
    if (gnutls_x509_name_constraints_get_permitted(constraints, index, &type, &name) != 0) break;
    if (type != GNUTLS_SAN_DNSNAME) continue;
    done = name.size + 2 <= capacity - length;
    if (!done) break;
    memcpy(names + length, name.data, name.size);
    length += name.size;
    names[length++] = '\n';
    names[length] = 0;
  }
  gnutls_x509_name_constraints_deinit(constraints);
  return done;
}

// MARK: Certificates

static int sign_leaf(
    struct ocmhd_authority *authority, gnutls_x509_crt_t certificate, const char *host,
    const void *address, size_t address_count, unsigned days) {
  unsigned char id[64];
  size_t id_size = sizeof id;
  time_t now = time(NULL), to = now + (time_t)days * 86400;
  time_t last = gnutls_x509_crt_get_expiration_time(authority->certificate);
  // A common name has 64 bytes at most. Clients look at the alternative name alone.
  const char *name = strlen(host) <= 64 ? host : "OfflineCache";
  return begin(certificate, name, authority->leaf_key, now - 3600, to < last ? to : last) &&
         gnutls_x509_crt_set_basic_constraints(certificate, 0, -1) == 0 &&
         gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE) == 0 &&
         gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0) == 0 &&
         gnutls_x509_crt_set_subject_alt_name(
             certificate, address_count > 0 ? GNUTLS_SAN_IPADDRESS : GNUTLS_SAN_DNSNAME,
             address_count > 0 ? address : host,
             (unsigned)(address_count > 0 ? address_count : strlen(host)), GNUTLS_FSAN_SET) == 0 &&
         gnutls_x509_crt_get_subject_key_id(authority->certificate, id, &id_size, NULL) == 0 &&
         gnutls_x509_crt_set_authority_key_id(certificate, id, id_size) == 0 &&
         gnutls_x509_crt_sign2(
             certificate, authority->certificate, authority->key, GNUTLS_DIG_SHA256, 0) == 0;
}

struct ocmhd_leaf *ocmhd_make_leaf(
    struct ocmhd_authority *authority, const char *host, const void *address,
    size_t address_count, unsigned days) {
  gnutls_x509_crt_t certificate = NULL;
  struct ocmhd_leaf *leaf = calloc(1, sizeof *leaf);
  if (leaf == NULL) return NULL;
  atomic_init(&leaf->users, 1);
  if (gnutls_x509_crt_init(&certificate) == 0 &&
      sign_leaf(authority, certificate, host, address, address_count, days) &&
      gnutls_privkey_init(&leaf->key) == 0 &&
      gnutls_privkey_import_x509(
          leaf->key, authority->leaf_key, GNUTLS_PRIVKEY_IMPORT_COPY) == 0 &&
      gnutls_pcert_import_x509(&leaf->certificate, certificate, 0) == 0) {
    gnutls_x509_crt_deinit(certificate);
    return leaf;
  }
  if (certificate != NULL) gnutls_x509_crt_deinit(certificate);
  ocmhd_release_leaf(leaf);
  return NULL;
}

void ocmhd_release_leaf(struct ocmhd_leaf *leaf) {
  if (leaf == NULL || atomic_fetch_sub(&leaf->users, 1) > 1) return;
  gnutls_pcert_deinit(&leaf->certificate);
  if (leaf->key != NULL) gnutls_privkey_deinit(leaf->key);
  free(leaf);
}

// MARK: Handshakes

/// Makes room for a socket. The caller holds the mutex.
static int make_room(int socket) {
  if (socket < handshake_count) return 1;
  int count = socket + 64;
  struct handshake **larger = realloc(handshakes, (size_t)count * sizeof *larger);
  if (larger == NULL) return 0;
  memset(larger + handshake_count, 0, (size_t)(count - handshake_count) * sizeof *larger);
  handshakes = larger;
  handshake_count = count;
  return 1;
}

int ocmhd_expect_handshake(int socket, struct ocmhd_leaf *leaf, const char *host) {
  struct handshake *made = calloc(1, sizeof *made);
  if (made == NULL) return 0;
  if (host != NULL) strncpy(made->host, host, sizeof made->host - 1);
  made->leaf = leaf;
  pthread_mutex_lock(&mutex);
  int done = socket >= 0 && make_room(socket) && handshakes[socket] == NULL;
  if (done) {
    handshakes[socket] = made;
    atomic_fetch_add(&leaf->users, 1);
  }
  pthread_mutex_unlock(&mutex);
  if (!done) free(made);
  return done;
}

enum ocmhd_handshake ocmhd_end_handshake(int socket) {
  struct handshake *ended = NULL;
  pthread_mutex_lock(&mutex);
  if (socket >= 0 && socket < handshake_count) {
    ended = handshakes[socket];
    handshakes[socket] = NULL;
  }
  pthread_mutex_unlock(&mutex);
  if (ended == NULL) return ocmhd_handshake_none;
  enum ocmhd_handshake state = ended->state;
  ocmhd_release_leaf(ended->leaf);
  free(ended);
  return state;
}

/// Called by GnuTLS when the last message of the client has come. libmicrohttpd does not report how a
/// handshake ended: a connection that ends before this call shows a client that does not accept the
/// certificate.
static int finished(
    gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
    const gnutls_datum_t *message) {
  (void)type, (void)when, (void)message;
  int socket = gnutls_transport_get_int(session);
  if (!incoming) return 0;
  pthread_mutex_lock(&mutex);
  if (socket >= 0 && socket < handshake_count && handshakes[socket] != NULL)
    handshakes[socket]->state = ocmhd_handshake_done;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/// Whether the client asks for the host, or names none.
static int asks_for(gnutls_session_t session, const char *host) {
  char name[256];
  size_t size = sizeof name;
  unsigned type = 0;
  int result = gnutls_server_name_get(session, name, &size, &type, 0);
  if (result == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) return 1;
  if (result != 0 || type != GNUTLS_NAME_DNS) return 0;
  // The size may or may not include a NUL.
  size = strnlen(name, size);
  return size == strlen(host) && strncasecmp(name, host, size) == 0;
}

int ocmhd_choose_made(
    gnutls_session_t session, int socket, gnutls_pcert_st **chain, unsigned *count,
    gnutls_privkey_t *key) {
  int result = 0;
  pthread_mutex_lock(&mutex);
  struct handshake *expected =
      socket >= 0 && socket < handshake_count ? handshakes[socket] : NULL;
  if (expected != NULL) {
    if (asks_for(session, expected->host)) {
      // The handshake ends before the socket is closed, and with that the use of the certificate.
      *chain = &expected->leaf->certificate;
      *count = 1;
      *key = expected->leaf->key;
      expected->state = ocmhd_handshake_offered;
      gnutls_handshake_set_hook_function(
          session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, finished);
      result = 1;
    } else {
      expected->state = ocmhd_handshake_other;
      result = -1;
    }
  }
  pthread_mutex_unlock(&mutex);
  return result;
}
