#include "emulator/plugin_api.h"

int qemu_plugin_version = PLUGIN_API_FIRST;

/* Before the emulator that loads us asks for it. Scoreboards came with interface 2. */
static __attribute__((constructor)) void
choose_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = PLUGIN_API_SECOND;
}
