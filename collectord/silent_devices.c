#include "collectord/silent_devices.h"

#include <string.h>

#include "base/clock.h"

bool
silent_devices_have(const struct silent_devices *devices, uint32_t major, uint32_t minor)
{
	const uint64_t now_ns = monotonic_ns();

	for (unsigned i = 0; i < SILENT_DEVICES_MAX; i++)
		if (devices->latest[i].until_ns > now_ns && devices->latest[i].major == major &&
		    devices->latest[i].minor == minor)
			return true;
	return false;
}

bool
silent_devices_add(struct silent_devices *devices, uint32_t major, uint32_t minor, const struct helper *helper)
{
	if (silent_devices_have(devices, major, minor))
		return false;
	memmove(&devices->latest[1], &devices->latest[0], sizeof(devices->latest) - sizeof(devices->latest[0]));
	devices->latest[0] =
		(struct silent_device){major, minor, helper_last_stuck(helper), monotonic_ns() + SILENT_NS};
	return true;
}

void
silent_devices_renew(struct silent_devices *devices, struct helper *helper)
{
	for (unsigned i = 0; i < SILENT_DEVICES_MAX; i++) {
		struct silent_device *device = &devices->latest[i];

		if (device->child && !helper_is_stuck(helper, device->child))
			device->child = 0;
		if (device->child && device->until_ns < monotonic_ns() + SILENT_NS / 2)
			device->until_ns = monotonic_ns() + SILENT_NS / 2;
	}
}
