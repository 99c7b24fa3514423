#define _GNU_SOURCE
#include "creachability.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

int cr_open(int listens) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -errno;
  struct sockaddr_nl address;
  memset(&address, 0, sizeof address);
  address.nl_family = AF_NETLINK;
  if (listens) {
    // The last one has no constant of its own: it is the bit of RTNLGRP_IPV6_RULE.
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_RULE |
                        RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE | 1u << (RTNLGRP_IPV6_RULE - 1);
  }
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
    int error = errno;
    close(descriptor);
    return -error;
  }
  return descriptor;
}

static int ask(int descriptor, struct nlmsghdr *message) {
  struct sockaddr_nl kernel;
  memset(&kernel, 0, sizeof kernel);
  kernel.nl_family = AF_NETLINK;
  for (;;) {
    ssize_t sent = sendto(
        descriptor, message, message->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel);
    if (sent >= 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

int cr_ask_route(int descriptor, uint32_t sequence, int family) {
  // k.root-servers.net: no part of any private or documentation range, so that only a default route, or
  // what stands for one, leads there.
  const char *public_address = family == AF_INET ? "193.0.14.129" : "2001:7fd::1";
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t address[16];
  } message;
  memset(&message, 0, sizeof message);
  size_t length = family == AF_INET ? 4 : 16;
  if (inet_pton(family, public_address, message.address) != 1) return -EAFNOSUPPORT;
  message.head.nlmsg_type = RTM_GETROUTE;
  message.head.nlmsg_flags = NLM_F_REQUEST;
  message.head.nlmsg_seq = sequence;
  message.route.rtm_family = (unsigned char)family;
  message.route.rtm_dst_len = (unsigned char)(length * 8);
  message.attribute.rta_type = RTA_DST;
  message.attribute.rta_len = (unsigned short)RTA_LENGTH(length);
  message.head.nlmsg_len =
      (uint32_t)(NLMSG_LENGTH(sizeof message.route) + RTA_LENGTH(length));
  return ask(descriptor, &message.head);
}

int cr_ask_link(int descriptor, uint32_t sequence, int32_t index) {
  struct {
    struct nlmsghdr head;
    struct ifinfomsg link;
  } message;
  memset(&message, 0, sizeof message);
  message.head.nlmsg_len = NLMSG_LENGTH(sizeof message.link);
  message.head.nlmsg_type = RTM_GETLINK;
  message.head.nlmsg_flags = NLM_F_REQUEST;
  message.head.nlmsg_seq = sequence;
  message.link.ifi_family = AF_UNSPEC;
  message.link.ifi_index = index;
  return ask(descriptor, &message.head);
}

int64_t cr_receive(int descriptor, void *buffer, size_t count) {
  struct sockaddr_nl sender;
  struct iovec space = {.iov_base = buffer, .iov_len = count};
  for (;;) {
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &space, .msg_iovlen = 1};
    ssize_t received = recvmsg(descriptor, &message, 0);
    if (received < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    // Any process may send to the socket; the kernel alone has the port 0.
    if (message.msg_namelen != sizeof sender || sender.nl_pid != 0) return 0;
    if (message.msg_flags & MSG_TRUNC) return -EMSGSIZE;
    return received;
  }
}

int cr_ipv4(void) { return AF_INET; }
int cr_ipv6(void) { return AF_INET6; }

#endif

static int64_t now_milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Connects to one address until a moment.
static int connect_until(const struct addrinfo *address, int64_t end) {
  int descriptor = socket(address->ai_family, SOCK_STREAM, 0);
  if (descriptor < 0) return -errno;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  int result = 0;
  if (connect(descriptor, address->ai_addr, address->ai_addrlen) < 0) {
    result = -errno;
    while (result == -EINPROGRESS || result == -EINTR) {
      int64_t left = end - now_milliseconds();
      struct pollfd waiting = {.fd = descriptor, .events = POLLOUT};
      int ready = left <= 0 ? 0 : poll(&waiting, 1, (int)left);
      if (ready < 0) {
        result = -errno;
      } else if (ready == 0) {
        result = -ETIMEDOUT;
      } else {
        int error = 0;
        socklen_t length = sizeof error;
        if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) < 0) error = errno;
        result = -error;
      }
    }
  }
  close(descriptor);
  return result;
}

int cr_connect(const char *host, const char *port, int milliseconds) {
  struct addrinfo wanted, *found = NULL;
  memset(&wanted, 0, sizeof wanted);
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  int failure = getaddrinfo(host, port, &wanted, &found);
  if (failure == EAI_SYSTEM) return errno > 0 ? -errno : -EHOSTUNREACH;
  if (failure != 0) return 1;
  int64_t end = now_milliseconds() + milliseconds;
  int result = -EHOSTUNREACH;
  for (const struct addrinfo *next = found; next != NULL && result != 0; next = next->ai_next) {
    // What is left is shared out, so that one silent address does not take the time of the next.
    int64_t now = now_milliseconds();
    int64_t share = next->ai_next == NULL ? end : now + (end - now) / 2;
    result = connect_until(next, share);
  }
  freeaddrinfo(found);
  return result;
}
