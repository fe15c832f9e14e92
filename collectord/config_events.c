#include "collectord/config_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const struct event_spec default_events[] = {
	{.name = "cycles", .precise = EVENT_PRECISE_MAX, .user = true, .kernel = true},
	{.name = "cache-misses", .user = true, .kernel = true},
};

void
config_events_default(struct config *config)
{
	config->event_count = sizeof(default_events) / sizeof(default_events[0]);
	memcpy(config->events, default_events, sizeof(default_events));
}

static int
read_name(const struct config_source *source, const config_setting_t *setting, struct event_spec *event)
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
read_member(const struct config_source *source, const config_setting_t *setting, struct event_spec *event)
{
	const char *name = config_setting_name(setting);
	uint64_t precise;
	int err;

	if (strcmp(name, "name") == 0)
		return read_name(source, setting, event);
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
		err = read_member(source, config_setting_get_elem(group, (unsigned)i), event);
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

int
config_events_read(const struct config_source *source, const config_setting_t *list, struct config *config)
{
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
