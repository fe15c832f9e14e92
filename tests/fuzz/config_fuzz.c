/* Whatever the configuration file holds, it is taken or refused with a sentence, and what is taken is in range. */
#include <stdlib.h>
#include <string.h>

#include "collectord/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the string before a syntax error: some bytes each time a wrong file is read. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static void
check_accepted(const struct config *config)
{
	if (*config->database != '/' || (*config->socket && *config->socket != '/'))
		abort();
	if (config->flush_interval_ns == 0 || config->slice_ns < config->flush_interval_ns)
		abort();
	if (config->ring_pages == 0 || (config->ring_pages & (config->ring_pages - 1)))
		abort();
	if (config->event_count < 1 || config->event_count > EVENTS_MAX)
		abort();
	if (config->overhead_limit_ppm == 0 || config->overhead_limit_ppm > 500000 || config->max_rate == 0 ||
	    config->max_rate > CONFIG_RATE_MAX)
		abort();
	for (size_t i = 0; i < config->event_count; i++) {
		const struct event_spec *event = &config->events[i];

		if (!*event->name || (event->period && event->rate) || event->precise > EVENT_PRECISE_MAX)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct config config;
	char why[128] = "";
	int err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	err = dcpid_config_parse("f", text, &config, why, sizeof(why));
	if (err && !*why)
		abort();
	if (!err)
		check_accepted(&config);
	free(text);
	return 0;
}
