// What Swift cannot call of libmicrohttpd: its variadic functions.
#ifndef OFFLINECACHE_CMICROHTTPD_H
#define OFFLINECACHE_CMICROHTTPD_H

#include <microhttpd.h>

#endif
