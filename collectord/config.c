#include "collectord/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "control/request.h"
#include "profile/profile.h"

#define DAY_NS (86400 * SECOND_NS)
#define MIB    (UINT64_C(1) << 20)
#define KIB    1024

static const struct event_spec default_events[] = {
	{.name = "cycles", .precise = EVENT_PRECISE_MAX, .user = true, .kernel = true},
	{.name = "cache-misses", .user = true, .kernel = true},
};

void
dcpid_config_default(struct config *config)
{
	memset(config, 0, sizeof(*config));
	snprintf(config->database, sizeof(config->database), "%s", PROFILE_DIRECTORY);
	snprintf(config->socket, sizeof(config->socket), "%s", CONFIG_SOCKET);
	config->size_limit = PROFILE_SIZE_DEFAULT;
	config->capture_limit = PROFILE_SIZE_DEFAULT / 8;
	config->max_age_ns = 30 * DAY_NS;
	config->flush_interval_ns = 10 * SECOND_NS;
	config->slice_ns = 600 * SECOND_NS;
	config->tally_limit = 131072;
	config->ring_pages = 512 * KIB / (size_t)sysconf(_SC_PAGESIZE);
	config->sideband_pages = 512 * KIB / (size_t)sysconf(_SC_PAGESIZE);
	config->overhead_limit_ppm = 10000;
	config->max_rate = 5200; /* DCPI's density, TOCS 15(4), 1997 */
	config->idle_rate = 20;
	config->stacks = (struct config_stacks){.rate = 49, .depth = 128, .user = true, .kernel = true};
	config->log_limit = LOG_LEVEL_INFO;
	config->event_count = sizeof(default_events) / sizeof(default_events[0]);
	memcpy(config->events, default_events, sizeof(default_events));
}

/* ---- the events ---- */

static int
read_event_name(const struct config_source *source, const config_setting_t *setting, struct event_spec *event)
{
	struct event_encoding encoding;
	char reason[256] = "";
	int err;

	err = config_string(source, setting, event->name, sizeof(event->name));
	if (err)
		return err;
	err = event_encode("/sys", event->name, &encoding, reason, sizeof(reason));
	if (err && err != -ENODEV) /* a PMU that another machine has: the event is not available here */
		return config_refuse(source, setting, "%s", *reason ? reason : error_text(err));
	return 0;
}

static int
read_event_member(const struct config_source *source, const config_setting_t *setting, struct event_spec *event)
{
	const char *name = config_setting_name(setting);
	uint64_t precise;
	int err;

	if (strcmp(name, "name") == 0)
		return read_event_name(source, setting, event);
	if (strcmp(name, "period") == 0)
		return config_whole_number(source, setting, 1, CONFIG_PERIOD_MAX, "events per sample", &event->period);
	if (strcmp(name, "rate") == 0)
		return config_whole_number(source, setting, 1, CONFIG_RATE_MAX, "samples per second and CPU",
		                           &event->rate);
	if (strcmp(name, "user") == 0)
		return config_truth(source, setting, &event->user);
	if (strcmp(name, "kernel") == 0)
		return config_truth(source, setting, &event->kernel);
	if (strcmp(name, "idle") == 0)
		return config_truth(source, setting, &event->idle);
	err = config_whole_number(source, setting, 0, EVENT_PRECISE_MAX, "", &precise);
	if (!err)
		event->precise = (uint8_t)precise;
	return err;
}

static int
read_event(const struct config_source *source, const config_setting_t *group, struct event_spec *event)
{
	static const char *const names[] = {"name", "period", "rate", "precise", "user", "kernel", "idle"};
	int err;

	*event = (struct event_spec){.user = true, .kernel = true};
	if (!config_setting_is_group(group))
		return config_refuse(source, group, "an event is written { name = \"...\"; }");
	err = config_known_names(source, group, names, sizeof(names) / sizeof(names[0]));
	for (int i = 0; !err && i < config_setting_length(group); i++)
		err = read_event_member(source, config_setting_get_elem(group, (unsigned)i), event);
	if (err)
		return err;
	if (!*event->name)
		return config_refuse(source, group, "an event needs a name");
	if (event->period && event->rate)
		return config_refuse(source, group, "event %s has both a period and a rate", event->name);
	if (!event->user && !event->kernel)
		return config_refuse(source, group, "event %s counts neither user nor kernel mode", event->name);
	return 0;
}

static int
read_events(const struct config_source *source, const config_setting_t *list, void *into)
{
	struct config *config = into;
	int count = config_setting_length(list);

	if (!config_setting_is_list(list) || count < 1 || count > EVENTS_MAX)
		return config_refuse(source, list, "events must be a list of 1 to %d events, ( { ... }, { ... } )",
		                     EVENTS_MAX);
	config->event_count = 0;
	for (int i = 0; i < count; i++) {
		const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);
		struct event_spec *event = &config->events[i];
		int err = read_event(source, group, event);

		if (err)
			return err;
		for (int j = 0; j < i; j++)
			if (strcmp(config->events[j].name, event->name) == 0)
				return config_refuse(source, group, "event %s is there twice", event->name);
		config->event_count++;
	}
	return 0;
}

static int
read_stacks(const struct config_source *source, const config_setting_t *group, void *into)
{
	static const char *const names[] = {"rate", "depth", "user", "kernel"};
	struct config_stacks *stacks = into;
	int err;

	if (!config_setting_is_group(group))
		return config_refuse(source, group, "stacks is written { rate = 49; }");
	err = config_known_names(source, group, names, sizeof(names) / sizeof(names[0]));
	for (int i = 0; !err && i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(member);

		if (strcmp(name, "rate") == 0)
			err = config_whole_number(source, member, 0, CONFIG_STACKS_MAX, "stacks per second and CPU",
			                          &stacks->rate);
		else if (strcmp(name, "depth") == 0)
			err = config_whole_number(source, member, 1, CONFIG_DEPTH_MAX, "frames", &stacks->depth);
		else
			err = config_truth(source, member, strcmp(name, "user") == 0 ? &stacks->user : &stacks->kernel);
	}
	if (!err && !stacks->user && !stacks->kernel)
		return config_refuse(source, group, "stacks has neither user nor kernel mode; rate = 0 turns it off");
	return err;
}

/* ---- the other options ---- */

static int
read_path(const struct config_source *source, const config_setting_t *setting, void *into)
{
	int err = config_string(source, setting, into, PATH_MAX - 16); /* room for the names of files in it */

	if (!err && *(const char *)into != '/')
		return config_refuse(source, setting, "%s must be an absolute path", config_setting_name(setting));
	return err;
}

static int
read_socket(const struct config_source *source, const config_setting_t *setting, void *into)
{
	const char *given = config_setting_get_string(setting);

	*(char *)into = '\0';
	return given && !*given ? 0 : read_path(source, setting, into);
}

static int
read_ring(const struct config_source *source, const config_setting_t *setting, void *into)
{
	size_t page_kib = (size_t)sysconf(_SC_PAGESIZE) / KIB;
	uint64_t kib;
	int err = config_whole_number(source, setting, page_kib, 65536, "KiB", &kib);

	if (err)
		return err;
	if (kib & (kib - 1))
		return config_refuse(source, setting, "%s is %llu; it must be a power of two from %zu to 65536 KiB",
		                     config_setting_name(setting), (unsigned long long)kib, page_kib);
	*(size_t *)into = kib / page_kib;
	return 0;
}

static int
read_overhead_limit(const struct config_source *source, const config_setting_t *setting, void *into)
{
	double percent;
	int err = config_number(source, setting, 0.01, 50, "percent", &percent);

	if (!err)
		*(uint64_t *)into = (uint64_t)(percent * 10000 + 0.5);
	return err;
}

static int
read_log_level(const struct config_source *source, const config_setting_t *setting, void *into)
{
	static const struct {
		const char *name;
		enum log_level level;
	} levels[] = {
		{"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
		{"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
	};
	const char *given = config_setting_get_string(setting);

	for (size_t i = 0; given && i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcmp(levels[i].name, given) == 0) {
			*(enum log_level *)into = levels[i].level;
			return 0;
		}
	}
	return config_refuse(source, setting,
	                     "log_level must be \"error\", \"warning\", \"notice\", \"info\" or \"debug\"");
}

#define MEMBER(name) offsetof(struct config, name)

/* Into the member at `offset`: by `read`, or a whole number from `least` to `most` times `scale`, an uint64_t. */
static const struct config_option {
	const char *name;
	size_t offset;
	int (*read)(const struct config_source *source, const config_setting_t *setting, void *into);
	uint64_t least, most;
	const char *unit;
	uint64_t scale;
} config_options[] = {
	{"database", MEMBER(database), read_path, 0, 0, NULL, 0},
	{"socket", MEMBER(socket), read_socket, 0, 0, NULL, 0},
	{"size_limit_mib", MEMBER(size_limit), NULL, 16, 1 << 20, "MiB", MIB},
	{"capture_limit_mib", MEMBER(capture_limit), NULL, 0, 1 << 20, "MiB", MIB},
	{"max_age_days", MEMBER(max_age_ns), NULL, 1, 3650, "days", DAY_NS},
	{"flush_interval", MEMBER(flush_interval_ns), NULL, 1, 3600, "seconds", SECOND_NS},
	{"slice", MEMBER(slice_ns), NULL, 1, 86400, "seconds", SECOND_NS},
	{"tally_limit", MEMBER(tally_limit), NULL, 1024, 1 << 24, "keys", 1},
	{"ring_kib", MEMBER(ring_pages), read_ring, 0, 0, NULL, 0},
	{"sideband_ring_kib", MEMBER(sideband_pages), read_ring, 0, 0, NULL, 0},
	{"overhead_limit", MEMBER(overhead_limit_ppm), read_overhead_limit, 0, 0, NULL, 0},
	{"max_rate", MEMBER(max_rate), NULL, 1, CONFIG_RATE_MAX, "samples per second and CPU", 1},
	{"idle_rate", MEMBER(idle_rate), NULL, 0, CONFIG_RATE_MAX, "samples per second and CPU", 1},
	{"log_level", MEMBER(log_limit), read_log_level, 0, 0, NULL, 0},
	{"events", 0, read_events, 0, 0, NULL, 0},
	{"stacks", MEMBER(stacks), read_stacks, 0, 0, NULL, 0},
};
#define OPTION_COUNT (sizeof(config_options) / sizeof(config_options[0]))

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "tally_limit is read as an uint64_t");

static int
read_option(const struct config_source *source, const config_setting_t *setting, const struct config_option *option,
            void *into)
{
	uint64_t number;
	int err;

	if (option->read)
		return option->read(source, setting, into);
	err = config_whole_number(source, setting, option->least, option->most, option->unit, &number);
	if (!err)
		*(uint64_t *)into = number * option->scale;
	return err;
}

static int
read_options(const struct config_source *source, const config_setting_t *root, void *into)
{
	const char *names[OPTION_COUNT];
	struct config *config = into;
	const config_setting_t *slice;
	int err;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		names[i] = config_options[i].name;
	err = config_known_names(source, root, names, OPTION_COUNT);
	if (err)
		return err;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct config_option *option = &config_options[i];
		const config_setting_t *setting = config_setting_get_member(root, option->name);

		err = setting ? read_option(source, setting, option, (char *)config + option->offset) : 0;
		if (err)
			return err;
	}
	if (config->slice_ns >= config->flush_interval_ns)
		return 0;
	slice = config_setting_get_member(root, "slice");
	return config_refuse(source, slice ? slice : config_setting_get_member(root, "flush_interval"),
	                     "slice (%llu s) must not be shorter than flush_interval (%llu s)",
	                     (unsigned long long)(config->slice_ns / SECOND_NS),
	                     (unsigned long long)(config->flush_interval_ns / SECOND_NS));
}

int
dcpid_config_parse(const char *name, const char *text, struct config *config, char *why, size_t size)
{
	dcpid_config_default(config);
	return config_read_text(name, text, read_options, config, why, size);
}

int
dcpid_config_load(const char *path, struct config *config, char *why, size_t size)
{
	char *text;
	int err;

	err = config_text_read(path, &text, why, size);
	if (err)
		return err;
	err = dcpid_config_parse(path, text, config, why, size);
	free(text);
	return err;
}

/* ---- the command line ---- */

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
