#include "collectord/uevents.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#define KERNEL_GROUP 1

#define WORD(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* A message begins with "online@/devices/..."; what containers make and remove all the time is not to wake us. */
static int
let_through_online_and_offline(int fd)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('o', 'n', 'l', 'i'), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('o', 'f', 'f', 'l'), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog filter = {
		.len = sizeof(instructions) / sizeof(instructions[0]),
		.filter = instructions,
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ? -errno : 0;
}

int
uevents_open(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int err;

	if (fd < 0)
		return -errno;
	err = let_through_online_and_offline(fd);
	if (!err && bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* ENOBUFS says that there were more than the socket could hold, once. */
void
uevents_clear(int fd)
{
	char start[4];

	while (fd >= 0 && (recv(fd, start, sizeof(start), 0) >= 0 || errno == ENOBUFS || errno == EINTR))
		;
}
