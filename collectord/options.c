#include "collectord/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/request.h"

void
dcpid_options_init(struct dcpid_options *options)
{
	memset(options, 0, sizeof(*options));
	options->file = CONFIG_FILE;
}

int
dcpid_options_absolute_path(const char *path, char absolute[PATH_MAX])
{
	const bool is_relative = *path != '/';
	size_t used = 0;

	if (!*path)
		return -EINVAL;
	if (is_relative) {
		if (!getcwd(absolute, PATH_MAX))
			return -errno;
		used = strlen(absolute);
	}
	if (used + 1 + strlen(path) >= PATH_MAX - 16) /* room for the names of files in it */
		return -ENAMETOOLONG;
	snprintf(absolute + used, PATH_MAX - used, "%s%s", is_relative ? "/" : "", path);
	return 0;
}

const char *
dcpid_options_source(const struct dcpid_options *options)
{
	if (!options->file_given && access(options->file, F_OK))
		return "built-in configuration (there is no " CONFIG_FILE ")";
	return options->file;
}

static void
set_socket(const struct dcpid_options *options, struct config *config)
{
	if (*options->socket)
		memcpy(config->socket, options->socket, sizeof(config->socket));
	else if (*options->database)
		config->socket[0] = '\0';
	if (*config->socket)
		return;
	/* both the configuration and dcpid_options_absolute_path() leave room for this */
	memcpy(config->socket, config->database, sizeof(config->socket));
	strncat(config->socket, "/control", sizeof(config->socket) - strlen(config->socket) - 1);
}

int
dcpid_options_read_config(const struct dcpid_options *options, struct config *config, char *why, size_t size)
{
	int err = dcpid_config_load(options->file, config, why, size);

	if (err == -ENOENT && !options->file_given) {
		dcpid_config_default(config);
		err = 0;
	}
	if (err)
		return err;
	if (*options->database)
		memcpy(config->database, options->database, sizeof(config->database));
	set_socket(options, config);
	return 0;
}
