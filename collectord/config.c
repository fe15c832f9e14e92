#include "collectord/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "collectord/config_events.h"
#include "profile/profile.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)
#define MIB       (UINT64_C(1) << 20)
#define KIB       1024

void
config_default(struct config *config)
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
	config->log_limit = LOG_LEVEL_INFO;
	config_events_default(config);
}

typedef int option_reader(const struct config_source *source, const config_setting_t *setting, struct config *config);

static int
read_path(const struct config_source *source, const config_setting_t *setting, char path[PATH_MAX])
{
	int err = config_string(source, setting, path, PATH_MAX - 16); /* room for the names of files in it */

	if (!err && *path != '/')
		return config_refuse(source, setting, "%s must be an absolute path", config_setting_name(setting));
	return err;
}

static int
read_database(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return read_path(source, setting, config->database);
}

static int
read_socket(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	const char *given = config_setting_get_string(setting);

	config->socket[0] = '\0';
	return given && !*given ? 0 : read_path(source, setting, config->socket);
}

static int
read_size_limit(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	uint64_t mib;
	int err = config_whole_number(source, setting, 16, 1 << 20, "MiB", &mib);

	if (!err)
		config->size_limit = mib * MIB;
	return err;
}

static int
read_capture_limit(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	uint64_t mib;
	int err = config_whole_number(source, setting, 0, 1 << 20, "MiB", &mib);

	if (!err)
		config->capture_limit = mib * MIB;
	return err;
}

static int
read_max_age(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	uint64_t days;
	int err = config_whole_number(source, setting, 1, 3650, "days", &days);

	if (!err)
		config->max_age_ns = days * DAY_NS;
	return err;
}

static int
read_seconds(const struct config_source *source, const config_setting_t *setting, uint64_t least, uint64_t most,
             uint64_t *interval_ns)
{
	uint64_t seconds;
	int err = config_whole_number(source, setting, least, most, "seconds", &seconds);

	if (!err)
		*interval_ns = seconds * SECOND_NS;
	return err;
}

static int
read_flush_interval(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return read_seconds(source, setting, 1, 3600, &config->flush_interval_ns);
}

static int
read_slice(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return read_seconds(source, setting, 1, 86400, &config->slice_ns);
}

static int
read_tally_limit(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	uint64_t limit;
	int err = config_whole_number(source, setting, 1024, 1 << 24, "keys", &limit);

	if (!err)
		config->tally_limit = limit;
	return err;
}

static int
read_ring(const struct config_source *source, const config_setting_t *setting, size_t *pages)
{
	size_t page_kib = (size_t)sysconf(_SC_PAGESIZE) / KIB;
	uint64_t kib;
	int err = config_whole_number(source, setting, page_kib, 65536, "KiB", &kib);

	if (err)
		return err;
	if (kib & (kib - 1))
		return config_refuse(source, setting, "%s is %llu; it must be a power of two from %zu to 65536 KiB",
		                     config_setting_name(setting), (unsigned long long)kib, page_kib);
	*pages = kib / page_kib;
	return 0;
}

static int
read_ring_size(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return read_ring(source, setting, &config->ring_pages);
}

static int
read_sideband_ring_size(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return read_ring(source, setting, &config->sideband_pages);
}

static int
read_overhead_limit(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	double percent;
	int err = config_number(source, setting, 0.01, 50, "percent", &percent);

	if (!err)
		config->overhead_limit_ppm = (uint64_t)(percent * 10000 + 0.5);
	return err;
}

static int
read_max_rate(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return config_whole_number(source, setting, 1, CONFIG_RATE_MAX, "samples per second and CPU",
	                           &config->max_rate);
}

static int
read_idle_rate(const struct config_source *source, const config_setting_t *setting, struct config *config)
{
	return config_whole_number(source, setting, 0, CONFIG_RATE_MAX, "samples per second and CPU",
	                           &config->idle_rate);
}

static int
read_log_level(const struct config_source *source, const config_setting_t *setting, struct config *config)
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
			config->log_limit = levels[i].level;
			return 0;
		}
	}
	return config_refuse(source, setting,
	                     "log_level must be \"error\", \"warning\", \"notice\", \"info\" or \"debug\"");
}

static const struct {
	const char *name;
	option_reader *read;
} options[] = {
	{"database", read_database},
	{"socket", read_socket},
	{"size_limit_mib", read_size_limit},
	{"capture_limit_mib", read_capture_limit},
	{"max_age_days", read_max_age},
	{"flush_interval", read_flush_interval},
	{"slice", read_slice},
	{"tally_limit", read_tally_limit},
	{"ring_kib", read_ring_size},
	{"sideband_ring_kib", read_sideband_ring_size},
	{"overhead_limit", read_overhead_limit},
	{"max_rate", read_max_rate},
	{"idle_rate", read_idle_rate},
	{"log_level", read_log_level},
	{"events", config_events_read},
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static int
read_options(const struct config_source *source, const config_setting_t *root, struct config *config)
{
	const char *names[OPTION_COUNT];
	int err;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		names[i] = options[i].name;
	err = config_known_names(source, root, names, OPTION_COUNT);
	for (size_t i = 0; !err && i < OPTION_COUNT; i++) {
		const config_setting_t *setting = config_setting_get_member(root, options[i].name);

		if (setting)
			err = options[i].read(source, setting, config);
	}
	if (!err && config->slice_ns < config->flush_interval_ns) {
		const config_setting_t *slice = config_setting_get_member(root, "slice");

		return config_refuse(source, slice ? slice : config_setting_get_member(root, "flush_interval"),
		                     "slice (%llu s) must not be shorter than flush_interval (%llu s)",
		                     (unsigned long long)(config->slice_ns / SECOND_NS),
		                     (unsigned long long)(config->flush_interval_ns / SECOND_NS));
	}
	return err;
}

int
config_parse(const char *name, const char *text, struct config *config, char *why, size_t size)
{
	const struct config_source source = {.file = name, .why = why, .size = size};
	char *prepared;
	config_t parsed;
	int err;

	config_default(config);
	err = config_text_prepare(name, text, &prepared, why, size);
	if (err)
		return err;
	config_init(&parsed);
	if (config_read_string(&parsed, prepared) == CONFIG_TRUE) {
		err = read_options(&source, config_root_setting(&parsed), config);
	} else {
		snprintf(why, size, "%s:%d: %s", name, config_error_line(&parsed), config_error_text(&parsed));
		err = -DCPI_ECONFIG;
	}
	config_destroy(&parsed);
	free(prepared);
	return err;
}

int
config_load(const char *path, struct config *config, char *why, size_t size)
{
	char *text;
	int err;

	err = config_text_read(path, &text, why, size);
	if (err)
		return err;
	err = config_parse(path, text, config, why, size);
	free(text);
	return err;
}
