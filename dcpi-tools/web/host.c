#include "dcpi-tools/web/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_SIZE 256

/* Is everything from `at` on nothing, or a port? */
static bool
ends_with_port(const char *at)
{
	return *at == '\0' || (*at == ':' && at[1 + strspn(at + 1, "0123456789")] == '\0');
}

bool
host_is_ours(const char *host, const char *const *names, size_t count)
{
	unsigned char address[sizeof(struct in6_addr)];
	const char *end = host[0] == '[' ? strchr(host, ']') : host + strcspn(host, ":");
	char name[HOST_SIZE];
	const size_t skip = host[0] == '[';

	if (!end || (size_t)(end - host) >= sizeof(name) || !ends_with_port(end + skip))
		return false;
	memcpy(name, host + skip, (size_t)(end - host) - skip);
	name[(size_t)(end - host) - skip] = '\0';
	if (skip)
		return inet_pton(AF_INET6, name, address) == 1;
	if (strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, address) == 1)
		return true;
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}
