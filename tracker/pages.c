#include "tracker/pages.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "memory/object_log.h"

#define ROUND_NS     50000000L /* Linux takes the first pages away a second after a process began */
#define ASK_AT_ONCE  512       /* pages */
#define ASK_IN_ROUND 64        /* times: a large mapping takes several rounds */
#define BINDS_MAX    16384     /* each may make a mapping more, of which a process may have 65530 */
#define LINE_BYTES   16384
#define NODES        64

/* Linux's <numaif.h> comes with libnuma alone */
#define POLICY_BIND      2
#define POLICY_BALANCING (1 << 13) /* since 5.12 */
#define ASK_OF_ADDRESS   (1 << 1)

static own_thread_create *create_thread;
static unsigned long page_bytes;
static unsigned asked; /* in this round */
static unsigned binds;
static unsigned long resume; /* the address at which the next round begins; 0: the first */

static bool
has_policy(unsigned long address)
{
	int policy = 0;

	return syscall(SYS_get_mempolicy, &policy, NULL, 0UL, address, (unsigned long)ASK_OF_ADDRESS) || policy;
}

static void
bind_pages(unsigned long start, unsigned long end, int node)
{
	const unsigned long nodes = 1UL << node;

	if (binds < BINDS_MAX && syscall(SYS_mbind, start, end - start, (long)(POLICY_BIND | POLICY_BALANCING), &nodes,
	                                 (unsigned long)NODES + 1, 0UL) == 0)
		binds++;
}

/* Up to ASK_AT_ONCE pages. */
static void
bind_part(unsigned long start, unsigned long end)
{
	static void *pages[ASK_AT_ONCE];
	static int nodes[ASK_AT_ONCE];
	unsigned long count = 0;

	for (unsigned long at = start; at < end; at += page_bytes)
		pages[count++] = (void *)at;
	if (syscall(SYS_move_pages, 0L, count, pages, NULL, nodes, 0L))
		return;
	for (unsigned long first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count && nodes[next] == nodes[first]; next++)
			;
		if (nodes[first] >= 0 && nodes[first] < NODES)
			bind_pages(start + first * page_bytes, start + next * page_bytes, nodes[first]);
	}
}

static void
bind_mapping(unsigned long start, unsigned long end)
{
	if (end <= resume || has_policy(start > resume ? start : resume))
		return;
	for (unsigned long at = start > resume ? start : resume; at < end; at += ASK_AT_ONCE * page_bytes) {
		if (asked++ == ASK_IN_ROUND) {
			resume = at;
			return;
		}
		bind_part(at, end - at < ASK_AT_ONCE * page_bytes ? end : at + ASK_AT_ONCE * page_bytes);
	}
}

/* "55d0c8a00000-55d0c8a21000 rw-p ...": what may be written, and is the process's own, or its children's. */
static void
take_line(const char *line)
{
	char *at;
	const unsigned long start = strtoul(line, &at, 16);
	unsigned long end;

	if (*at != '-')
		return;
	end = strtoul(at + 1, &at, 16);
	if (at[0] == ' ' && at[1] == 'r' && at[2] == 'w' && (at[4] == 'p' || strstr(at, "/dev/zero")) &&
	    asked <= ASK_IN_ROUND)
		bind_mapping(start, end);
}

static void
bind_round(void)
{
	static char text[LINE_BYTES];
	const int maps = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	asked = 0;
	while (maps >= 0 && (got = read(maps, text + length, sizeof(text) - 1 - length)) > 0) {
		char *line = text, *end;

		length += (size_t)got;
		text[length] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			take_line(line);
			line = end + 1;
		}
		length -= (size_t)(line - text);
		memmove(text, line, length);
		if (length == sizeof(text) - 1)
			length = 0; /* no line is so long */
	}
	if (maps >= 0)
		syscall(SYS_close, maps);
	if (asked <= ASK_IN_ROUND)
		resume = 0;
}

static void *
run(void *data)
{
	const struct timespec pause = {.tv_nsec = ROUND_NS};

	(void)data;
	prctl(PR_SET_NAME, OBJECT_LOG_BINDER);
	for (;;) {
		bind_round();
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void
start(void)
{
	(void)own_thread_start(create_thread, run); /* pages move without it */
}

void
pages_begin(own_thread_create *create)
{
	if (!create || !secure_getenv(OBJECT_LOG_BIND))
		return;
	create_thread = create;
	page_bytes = (unsigned long)sysconf(_SC_PAGESIZE);
	pthread_atfork(NULL, NULL, start);
	start();
}
