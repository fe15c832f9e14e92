/*
 * config.h - the configuration of dcpid, dcpid.conf
 *
 * dcpid_config_load() starts from dcpid_config_default(), reads a libconfig file and checks every value: an unknown
 * name, a wrong type or a value out of range is refused with file, line and the accepted range. Paths are absolute or
 * refused; nothing is ever looked for in the working directory. Fuzzed by tests/fuzz/config_fuzz.c. Thread rule:
 * stateless.
 */
#ifndef DCPI_COLLECTORD_CONFIG_H
#define DCPI_COLLECTORD_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "event/event.h"
#include "profile/epoch.h"

#define CONFIG_PERIOD_MAX UINT64_C(1000000000000) /* events, or ns for clocks */
#define CONFIG_RATE_MAX   20000                   /* samples per second and CPU */
#define CONFIG_STACKS_MAX 1000                    /* stacks per second and CPU */
#define CONFIG_DEPTH_MAX  1024                    /* CALL_CHAIN_MAX */

struct config {
	char database[PATH_MAX];
	char socket[PATH_MAX];       /* "": "control" in the database's directory */
	uint64_t size_limit;         /* bytes the database may grow to */
	uint64_t capture_limit;      /* bytes of it that captured names and text may take; 0: nothing is captured */
	uint64_t max_age_ns;         /* what is older is dropped */
	uint64_t flush_interval_ns;  /* between two flushes */
	uint64_t slice_ns;           /* resolution in time of the database */
	size_t tally_limit;          /* distinct (image, offset, event, context) kept between flushes */
	size_t ring_pages;           /* data pages of the sample ring of each CPU, a power of two */
	size_t sideband_pages;       /* data pages of the ring for mapping and process records of each CPU */
	uint64_t overhead_limit_ppm; /* of the machine's processor time, for events that have neither period nor rate */
	uint64_t max_rate;           /* samples per second and CPU of all events that have neither period nor rate */
	uint64_t idle_rate;          /* samples per second of a clock on an idle CPU; 0: as on a busy one */
	struct config_stacks {
		uint64_t rate;     /* samples per second and CPU; 0: call stacks are not sampled */
		uint64_t depth;    /* frames that are kept of a stack */
		bool user, kernel; /* modes that are sampled */
	} stacks;
	enum log_level log_limit;
	size_t event_count;
	struct event_spec events[EVENTS_MAX];
};

void dcpid_config_default(struct config *config);

/*
 * Read `path` over the defaults. 0; -ECONFIG as -DCPI_ECONFIG or -errno with a sentence in `why` (of `size` bytes) that
 * begins with file and line. A file that root or the caller do not own, or that others may write, is refused.
 */
int dcpid_config_load(const char *path, struct config *config, char *why, size_t size);

/* As dcpid_config_load() of text in memory; `name` stands for the file in messages. 0, -DCPI_ECONFIG or -ENOMEM. */
int dcpid_config_parse(const char *name, const char *text, struct config *config, char *why, size_t size);

/* ---- the command line, and the configuration that follows from it ---- */

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
