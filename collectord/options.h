/*
 * options.h - the command line of dcpid, and the configuration that follows from it
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_OPTIONS_H
#define DCPI_COLLECTORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/config.h"
#include "profile/epoch.h"

struct dcpid_options {
	const char *file;        /* of the configuration */
	bool file_given;         /* by the user: it must be there; else its absence means the defaults */
	char database[PATH_MAX]; /* absolute; "": the configuration's */
	char socket[PATH_MAX];   /* absolute; "": the configuration's */
	char label[EPOCH_LABEL_SIZE];
	uint64_t seconds; /* 0: until a signal or command */
	uint64_t end_ns;  /* CLOCK_MONOTONIC, when `seconds` are over, of a daemon that goes on after a fault; else 0 */
	bool check;       /* only check the configuration */
};

void dcpid_options_init(struct dcpid_options *options);

/* `path` made absolute by the working directory, into `absolute`. 0; -EINVAL for "", -ENAMETOOLONG, or -errno. */
int dcpid_options_absolute_path(const char *path, char absolute[PATH_MAX]);

/* What the configuration is read from, for messages: the file, or what is built in when there is none. */
const char *dcpid_options_source(const struct dcpid_options *options);

/*
 * Read the configuration file and lay the command line over it. A socket that neither names is `control` in the
 * database's directory when the command line names that, so that a dcpid started by hand does not find another's
 * socket. 0 or an error with a sentence in `why`.
 */
int dcpid_options_read_config(const struct dcpid_options *options, struct config *config, char *why, size_t size);

#endif
