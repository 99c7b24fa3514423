// An authority that makes a certificate for each name, for connections whose TLS ends here although
// the client asked for another server. GnuTLS makes the certificates, in the memory of this process.
#ifndef OFFLINECACHE_AUTHORITY_H
#define OFFLINECACHE_AUTHORITY_H

#include <stddef.h>
#include <stdint.h>

struct ocmhd_authority;
struct ocmhd_leaf;

/// Makes the key (ECDSA P-256) and the certificate of an authority, and writes both as PEM texts with
/// a NUL, at most `capacity` bytes each. `hosts` are the names, with those below them, for which it
/// may make certificates; without any, all names. Returns 0 on failure.
int ocmhd_make_authority(const char *name, const char *const *hosts, size_t host_count,
                         unsigned days, char *certificate, char *key, size_t capacity);

/// Reads an authority. Returns NULL, and an error: 1 for a certificate that cannot be read or is none
/// of an authority, 2 for a key, 3 if the key is not that of the certificate, 4 if there is no memory.
struct ocmhd_authority *ocmhd_read_authority(const void *certificate, size_t certificate_count,
                                             const void *key, size_t key_count, int *error);
void ocmhd_free_authority(struct ocmhd_authority *authority);
/// Writes the name of the authority with a NUL, its SHA-256 (32 bytes), and the seconds since 1970
/// between which it is valid. Returns 0 on failure.
int ocmhd_describe_authority(struct ocmhd_authority *authority, char *name, size_t capacity,
                             unsigned char *sha256, int64_t *from, int64_t *to);

/// Writes the names of hosts for which the authority may make certificates, each with a line feed, and
/// a NUL; none for all names. Returns 0 if `capacity` bytes are too few.
int ocmhd_permitted_hosts(struct ocmhd_authority *authority, char *names, size_t capacity);

/// Makes a certificate for a host: a name, or an address of 4 or 16 bytes. All certificates of an
/// authority have one key, which lives as long as the process. Returns NULL on failure. The authority
/// must live as long.
struct ocmhd_leaf *ocmhd_make_leaf(struct ocmhd_authority *authority, const char *host,
                                   const void *address, size_t address_count, unsigned days);
void ocmhd_release_leaf(struct ocmhd_leaf *leaf);

/// Makes the connection of a socket use a certificate, until ocmhd_end_handshake. A client that names
/// another host (SNI) is refused; `host` is NULL for an address. Returns 0 if there is no memory.
int ocmhd_expect_handshake(int socket, struct ocmhd_leaf *leaf, const char *host);

enum ocmhd_handshake {
  ocmhd_handshake_none,      // the client has sent no hello
  ocmhd_handshake_other,     // it asked for another host
  ocmhd_handshake_offered,   // it has got the certificate, and not gone on
  ocmhd_handshake_done,
};
/// Returns how far the handshake of a socket has come, and forgets it. Called before the socket is
/// closed.
enum ocmhd_handshake ocmhd_end_handshake(int socket);

#endif
