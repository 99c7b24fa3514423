// The certificates of servers with TLS. libmicrohttpd takes them from GnuTLS, by a callback that has
// no context, so they are kept in one table, by the port of the server.
#ifndef OFFLINECACHE_CERTIFICATES_H
#define OFFLINECACHE_CERTIFICATES_H

#include <stddef.h>
#include <stdint.h>

/// Makes a server use a certificate, with those of its authorities after it, and its key; all are
/// PEM texts. Connections that begin from now on use it.
///
/// Returns 0, or an error: 1 for a certificate that cannot be read, 2 for a key, 3 if the key is not
/// that of the certificate, 4 if there is no memory or there are too many servers.
int ocmhd_use_certificate(uint16_t port, const void *certificates, size_t certificates_count,
                          const void *key, size_t key_count);

/// Frees the certificates of a server that has stopped.
void ocmhd_forget_certificates(uint16_t port);

/// The callback for MHD_OPTION_HTTPS_CERT_CALLBACK.
extern void *const ocmhd_certificate_callback;

#endif
