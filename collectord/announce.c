#include "collectord/announce.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "process/proc_text.h"
#include "profile/overhead.h"

/* The period of a clock is left out: it is the inverse of its rate. */
static int
format_frequency(uint64_t period, uint64_t rate, const char *unit, char *text, size_t size)
{
	if (rate && period && strcmp(unit, "ns") != 0)
		return snprintf(text, size, "a sample every %" PRIu64 " %s, %" PRIu64 " samples/s per CPU", period,
		                unit, rate);
	if (rate)
		return snprintf(text, size, "%" PRIu64 " samples/s per CPU", rate);
	return snprintf(text, size, "a sample every %" PRIu64 " %s", period, unit);
}

void
announce_event(const struct event *event, char *text, size_t size)
{
	char frequency[96], precise[32] = "", stands_in[EVENT_NAME_SIZE + 32] = "";

	if (!event->available) {
		snprintf(text, size, "%s: not available here%s%s", event->requested, *event->note ? "; " : "",
		         event->note);
		return;
	}
	format_frequency(event->period, event->rate, event->encoding.unit, frequency, sizeof(frequency));
	if (event->precise)
		snprintf(precise, sizeof(precise), ", precise level %u", event->precise);
	if (strcmp(event->name, event->requested) != 0)
		snprintf(stands_in, sizeof(stands_in), "; stands in for %s", event->requested);
	snprintf(text, size, "%s: %s%s%s%s%s%s%s", event->name, frequency, precise,
	         event->user ? "" : ", kernel mode only", event->kernel ? "" : ", user mode only", stands_in,
	         !*event->note ? ""
	         : *stands_in  ? ": "
	                       : "; ",
	         event->note);
}

void
announce_spec(const struct event_spec *spec, char *text, size_t size)
{
	char frequency[96], precise[40] = "";

	if (spec->period || spec->rate)
		format_frequency(spec->period, spec->rate, "events", frequency, sizeof(frequency));
	else
		snprintf(frequency, sizeof(frequency), "as often as the limit allows");
	if (spec->precise)
		snprintf(precise, sizeof(precise), ", precise level %u or less", spec->precise);
	snprintf(text, size, "%s: %s%s%s%s", spec->name, frequency, precise, spec->user ? "" : ", kernel mode only",
	         spec->kernel ? "" : ", user mode only");
}

void
announce_epoch(const struct log *log, const char *database, const struct epoch *epoch)
{
	log_write(log, LOG_LEVEL_INFO, "epoch %" PRIu32 "%s%s%s in %s", epoch->id, *epoch->label ? " \"" : "",
	          epoch->label, *epoch->label ? "\"" : "", database);
}

void
announce_events(const struct log *log, const struct epoch *epoch)
{
	bool has_clock = false;
	size_t count = 0;
	char text[512];

	for (size_t i = 0; i < epoch->event_count; i++)
		count += !event_is_sum(&epoch->events[i]);
	log_write(log, LOG_LEVEL_INFO, "%zu event%s on %" PRIu32 " CPU%s:", count, count == 1 ? "" : "s",
	          epoch->cpu_count, epoch->cpu_count == 1 ? "" : "s");
	for (size_t i = 0; i < epoch->event_count; i++) {
		const struct event *event = &epoch->events[i];

		if (event_is_sum(event))
			continue;
		announce_event(event, text, sizeof(text));
		log_write(log, *event->note ? LOG_LEVEL_NOTICE : LOG_LEVEL_INFO, "%s", text);
		has_clock |= event->available && !event->idle && strstr(event->name, "-clock");
	}
	if (has_clock)
		log_write(log, LOG_LEVEL_INFO, "time in which a CPU is idle is not counted");
	if (proc_text_is_nested("/proc"))
		log_write(log, LOG_LEVEL_WARNING,
		          "this is a pid namespace: samples of processes outside it stay unknown");
}

void
announce_overhead(const struct log *log, const struct epoch *epoch, uint64_t limit_ppm)
{
	double expected;

	if (overhead_expected(epoch->events, epoch->event_count, &expected) &&
	    expected > 1.05 * (double)limit_ppm / 1e4)
		log_write(log, LOG_LEVEL_NOTICE,
		          "sampling is to cost %.2f %% of the machine at full load, more than overhead_limit (%g %%): "
		          "periods and rates that are configured hold",
		          expected, (double)limit_ppm / 1e4);
}
