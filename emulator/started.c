#include "emulator/started.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
read_comm(const char *digits, char comm[COMM_SIZE])
{
	unsigned byte;
	size_t i = 0;

	for (; i < COMM_SIZE - 1 && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++) {
		comm[i] = (char)byte;
		if (!digits[2 * i + 1] || !digits[2 * i + 2]) {
			i++;
			break;
		}
	}
	comm[i] = '\0';
}

static void
read_option(struct started *started, const char *option)
{
	if (strncmp(option, "comm=", 5) == 0)
		read_comm(option + 5, started->comm);
	else if (strncmp(option, "cpu=", 4) == 0)
		snprintf(started->cpu, sizeof(started->cpu), "%s", option + 4);
	else if (strncmp(option, "prefix=", 7) == 0)
		snprintf(started->prefix, sizeof(started->prefix), "%s", option + 7);
	else if (strncmp(option, "seed=", 5) == 0)
		snprintf(started->seed, sizeof(started->seed), "%s", option + 5);
}

int
started_read(struct started *started, int argc, char **argv, const void *self)
{
	struct emulation emulation;
	ssize_t length;
	char *slash;
	Dl_info info;

	memset(started, 0, sizeof(*started));
	for (int i = 0; i < argc; i++)
		read_option(started, argv[i]);
	length = readlink("/proc/self/exe", started->emulator, sizeof(started->emulator) - 1);
	if (length <= 0)
		return -errno;
	started->emulator[length] = '\0';
	if (!dladdr(self, &info))
		return -ENOENT;
	snprintf(started->directory, sizeof(started->directory), "%s", info.dli_fname);
	emulation = started_emulation(started);
	program_plugin(&emulation, started->directory, started->plugin, sizeof(started->plugin));
	slash = strrchr(started->directory, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

struct emulation
started_emulation(const struct started *started)
{
	return (struct emulation){
		.emulator = started->emulator,
		.plugin = started->plugin,
		.cpu = started->cpu[0] ? started->cpu : NULL,
		.prefix = started->prefix[0] ? started->prefix : NULL,
		.seed = started->seed[0] ? started->seed : NULL,
	};
}
