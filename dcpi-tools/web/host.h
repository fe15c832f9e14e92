/*
 * host.h - which Host headers are ours
 *
 * A page of another site can be made to reach this server, by a name of that site which leads to 127.0.0.1 (DNS
 * rebinding); the browser then sends that name. An address cannot be made to lead elsewhere.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WEB_HOST_H
#define DCPI_TOOLS_WEB_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* localhost, an IPv4 address, an IPv6 address in brackets, or one of `names`; with or without a port. */
bool host_is_ours(const char *host, const char *const *names, size_t count);

#endif
