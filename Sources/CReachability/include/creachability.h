// What Swift cannot call to watch the network: netlink's macros, and a connection with a time limit.
// Every function returns a negative errno on failure, so that no caller can read errno too late.
#ifndef CREACHABILITY_H
#define CREACHABILITY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __linux__

/// A socket of rtnetlink(7) that never blocks and is closed on exec; with `listens` it hears of changes
/// of links, addresses, routes and routing rules.
int cr_open(int listens);
/// Asks which route leads to a public address of AF_INET or AF_INET6; no packet is sent to it.
int cr_ask_route(int descriptor, uint32_t sequence, int family);
/// Asks for a link by its index.
int cr_ask_link(int descriptor, uint32_t sequence, int32_t index);
/// Receives one datagram of the kernel; 0 where it came from somebody else, -EMSGSIZE where it is longer
/// than the buffer, which has its beginning then.
int64_t cr_receive(int descriptor, void *buffer, size_t count);
int cr_ipv4(void);
int cr_ipv6(void);

#endif

/// Makes a TCP connection and closes it. Resolving a name takes as long as the system's resolver takes,
/// connecting to all addresses together `milliseconds` at most. Negative: an error of the system;
/// positive: the name does not resolve.
int cr_connect(const char *host, const char *port, int milliseconds);

#endif
