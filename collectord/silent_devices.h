/*
 * silent_devices.h - devices whose file systems hang, and on which no file is opened for a while
 *
 * A system call on a file may never return: the server of a network file system is gone, or the process behind a FUSE
 * mount is stuck. Therefore a child process of dcpid (helper.h) makes such calls, and is left behind when it does not
 * come back in time. The device that the file is on is then silent: no other child is sent there for a minute, and for
 * as long as the child that was left behind exists. Even SIGKILL may not end it, and only HELPER_STUCK_MAX children may
 * be left behind: one hung file system must not use them all up.
 *
 * It has no pointers, so that it can be sent to the child. At most SILENT_DEVICES_MAX devices are remembered; a further
 * one takes the place of the one that was added first. All zero: none. Thread rule: that of its owner, and of the
 * helper.
 */
#ifndef DCPI_COLLECTORD_SILENT_DEVICES_H
#define DCPI_COLLECTORD_SILENT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/helper.h"

#define SILENT_DEVICES_MAX 16
#define SILENT_NS          UINT64_C(60000000000) /* that a device is silent at least */

struct silent_device {
	uint32_t major, minor;
	pid_t child;       /* the child that was left behind there; 0: it has ended */
	uint64_t until_ns; /* CLOCK_MONOTONIC; from then on the device is silent no more */
};

struct silent_devices {
	struct silent_device latest[SILENT_DEVICES_MAX]; /* the latest first */
};

/* Whether the device is silent now. */
bool silent_devices_have(const struct silent_devices *devices, uint32_t major, uint32_t minor);

/*
 * The device is silent from now on: the child that the helper left behind last hangs in a call there. False: it was
 * silent already.
 */
bool silent_devices_add(struct silent_devices *devices, uint32_t major, uint32_t minor, const struct helper *helper);

/* Keep those devices silent whose child has not ended. To be called before silent_devices_have() is asked. */
void silent_devices_renew(struct silent_devices *devices, struct helper *helper);

#endif
