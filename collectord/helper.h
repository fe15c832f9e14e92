/*
 * helper.h - a child process that makes system calls that may never return
 *
 * Reading a file that another process has mapped may wait for ever for a file system that does not answer. A thread
 * that waits there cannot be killed: dcpid could not exit, and would keep its locks. So a child of dcpid reads, one
 * request at a time. A child that does not answer in time is killed and left behind, and the next request starts
 * another; at most HELPER_STUCK_MAX are left behind at once.
 * Requests and answers are packets; their content is defined by the module that has the helper.
 * Thread rule: one thread, but for helper_cpu_ns(), which any may call.
 */
#ifndef DCPI_COLLECTORD_HELPER_H
#define DCPI_COLLECTORD_HELPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_STUCK_MAX   8
#define HELPER_PACKET_SIZE 8192

/* What the child does: read packets from `socket`, answer them, until the socket has ended. It has no other descriptor
 * but the standard ones, which lead nowhere. `shared` is helper_share()'s memory, NULL without it. */
typedef void helper_work(int socket, void *shared);

struct helper {
	helper_work *work;
	int socket;        /* -1: there is no child */
	_Atomic pid_t pid; /* 0: there is none */
	void *shared;      /* NULL: nothing */
	size_t shared_size;
	pid_t stuck[HELPER_STUCK_MAX];
	size_t stuck_count;
};

void helper_init(struct helper *helper, helper_work *work);

/* Ends the child; one that does not end at once is left behind. */
void helper_fini(struct helper *helper);

/* Make memory that the child shares with dcpid, for its progress; before the first start. 0 or -errno. */
int helper_share(struct helper *helper, size_t size);

/* Start the child if there is none. 0, -EBUSY: too many were left behind and have not ended, -errno. */
int helper_start(struct helper *helper);

/* A packet, with a descriptor that stays ours (-1: none). 0 or an error: then there is no child any more. */
int helper_send(struct helper *helper, const void *packet, size_t size, int fd);

/*
 * Wait for a packet until `deadline_ns` (CLOCK_MONOTONIC). Its size, -ETIMEDOUT, -ECANCELED when `stop` (-1: nothing)
 * is readable, or another error: then there is no child any more. With `fd`, a descriptor that came with it, else -1.
 */
ssize_t helper_receive(struct helper *helper, void *packet, size_t size, int *fd, int stop, uint64_t deadline_ns);

/* A packet that is there already: its size, -EAGAIN when there is none, or an error: then there is no child any more.
 */
ssize_t helper_try(struct helper *helper, void *packet, size_t size);

/* Leave the child behind. */
void helper_abandon(struct helper *helper);

/* Is this child, which was left behind, still there? */
bool helper_is_stuck(struct helper *helper, pid_t child);

/* End a child that has nothing to do, so that its processor time is our children's. */
void helper_dismiss(struct helper *helper);

/* Processor time of the child that there is now. */
uint64_t helper_cpu_ns(const struct helper *helper);

/* The child's: the next packet, 0 at the end; with `fd`, a descriptor that came with it, else -1. A packet is sent
 * whole, with a descriptor (-1: none); false: dcpid has closed the socket. */
size_t helper_next(int socket, void *packet, size_t size, int *fd);
bool helper_answer(int socket, const void *packet, size_t size, int fd);

/* ---- silent devices ---- */

#define SILENT_DEVICES_MAX 16
#define SILENT_NS          UINT64_C(60000000000) /* that a device is silent at least */

struct silent_device {
	uint32_t major, minor;
	pid_t child;       /* the child that was left behind there; 0: it has ended */
	uint64_t until_ns; /* CLOCK_MONOTONIC; from then on the device is silent no more */
};

/*
 * Devices whose file systems hang, and on which no file is opened for a while: no other child is sent there for a
 * minute, and for as long as the child that was left behind exists. Even SIGKILL may not end that, and only
 * HELPER_STUCK_MAX may be left behind: one hung file system must not use them all up.
 *
 * It has no pointers, so that it can be sent to the child. A further device takes the place of the one that was added
 * first. All zero: none. Thread rule: that of its owner, and of the helper.
 */
struct silent_devices {
	struct silent_device latest[SILENT_DEVICES_MAX]; /* the latest first */
};

/* Whether the device is silent now. */
bool helper_devices_have(const struct silent_devices *devices, uint32_t major, uint32_t minor);

/*
 * The device is silent from now on: the child that the helper left behind last hangs in a call there. False: it was
 * silent already.
 */
bool helper_devices_add(struct silent_devices *devices, uint32_t major, uint32_t minor, const struct helper *helper);

/* Keep those devices silent whose child has not ended. To be called before helper_devices_have() is asked. */
void helper_devices_renew(struct silent_devices *devices, struct helper *helper);

#endif
