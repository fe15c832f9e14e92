/*
 * silent_devices.h - devices whose file systems did not answer in time, and are not asked again for a while
 *
 * That is a minute, and for as long as the child that asked (helper.h) waits still, so that a file system that keeps
 * whom not even SIGKILL ends gets one child, not all that may be left behind.
 * Plain data, so that it can be sent to the child. The latest SILENT_DEVICES_MAX are remembered. All zero: none.
 * Thread rule: that of its owner, and of the helper.
 */
#ifndef DCPI_COLLECTORD_SILENT_DEVICES_H
#define DCPI_COLLECTORD_SILENT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/helper.h"

#define SILENT_DEVICES_MAX 16
#define SILENT_NS          UINT64_C(60000000000)

struct silent_device {
	uint32_t major, minor;
	pid_t child;       /* that asked it, and was left behind; 0: it has ended */
	uint64_t until_ns; /* CLOCK_MONOTONIC; it may be asked again */
};

struct silent_devices {
	struct silent_device latest[SILENT_DEVICES_MAX]; /* the latest first */
};

bool silent_devices_have(const struct silent_devices *devices, uint32_t major, uint32_t minor);

/* It did not answer the helper's child that was left behind just now. False: it was known to be silent already. */
bool silent_devices_add(struct silent_devices *devices, uint32_t major, uint32_t minor, const struct helper *helper);

/* Those whose child waits still stay silent: to be called before devices are asked. */
void silent_devices_renew(struct silent_devices *devices, struct helper *helper);

#endif
