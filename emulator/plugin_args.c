#include "emulator/plugin_args.h"

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
read_option(struct plugin_args *args, const char *option)
{
	if (strncmp(option, "comm=", 5) == 0)
		read_comm(option + 5, args->comm);
	else if (strncmp(option, "cpu=", 4) == 0)
		snprintf(args->cpu, sizeof(args->cpu), "%s", option + 4);
	else if (strncmp(option, "prefix=", 7) == 0)
		snprintf(args->prefix, sizeof(args->prefix), "%s", option + 7);
	else if (strncmp(option, "seed=", 5) == 0)
		snprintf(args->seed, sizeof(args->seed), "%s", option + 5);
}

int
plugin_args_read(struct plugin_args *args, int argc, char **argv, const void *self)
{
	struct emulation emulation;
	ssize_t length;
	char *slash;
	Dl_info info;

	memset(args, 0, sizeof(*args));
	for (int i = 0; i < argc; i++)
		read_option(args, argv[i]);
	length = readlink("/proc/self/exe", args->emulator, sizeof(args->emulator) - 1);
	if (length <= 0)
		return -errno;
	args->emulator[length] = '\0';
	if (!dladdr(self, &info))
		return -ENOENT;
	snprintf(args->directory, sizeof(args->directory), "%s", info.dli_fname);
	emulation = plugin_args_emulation(args);
	program_plugin(&emulation, args->directory, args->plugin, sizeof(args->plugin));
	slash = strrchr(args->directory, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

struct emulation
plugin_args_emulation(const struct plugin_args *args)
{
	return (struct emulation){
		.emulator = args->emulator,
		.plugin = args->plugin,
		.cpu = args->cpu[0] ? args->cpu : NULL,
		.prefix = args->prefix[0] ? args->prefix : NULL,
		.seed = args->seed[0] ? args->seed : NULL,
	};
}
