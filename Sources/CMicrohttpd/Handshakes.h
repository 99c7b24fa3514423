// What the callback for certificates asks the table of expected handshakes.
#ifndef OFFLINECACHE_HANDSHAKES_H
#define OFFLINECACHE_HANDSHAKES_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

/// Chooses the certificate that was made for a socket. Returns 1, 0 if none is expected there, or -1
/// if the client asks for another host.
int ocmhd_choose_made(gnutls_session_t session, int socket, gnutls_pcert_st **chain,
                      unsigned *count, gnutls_privkey_t *key);

#endif
