#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/report_tables.h"

static const struct record_counters *
sum_of(const struct emulation_report *report)
{
	return &report->outcome->counters.sum;
}

static void
print_time(const struct emulation_report *report, FILE *stream)
{
	const struct setup *setup = report->setup;
	const struct counters *counters = &report->outcome->counters;
	const double there = emulation_seconds(setup, report->outcome), here = run_seconds(&report->outcome->run);
	char *title = text_shown(setup->machine.title);

	fprintf(stream, "Machine:   %s (%s), %g MHz, %u of its %u core%s\n", title ? title : "?", setup->machine.name,
	        setup->machine.clock_mhz, setup->threads, setup->machine.cores, text_plural(setup->machine.cores));
	free(title);
	if (setup->parts & SETUP_CLOCK)
		fprintf(stream,
		        "Time:      %.6f s, %" PRIu64 " cycles; %.2f s here, %.1f times as long\n"
		        "Busy:      %.2f cores on average, %.6f s of one\n",
		        there, counters->elapsed_cycles, here, there > 0 ? here / there : 0,
		        emu_report_cores_busy(report),
		        (double)counters->busy_cycles / (setup->machine.clock_mhz * 1e6));
	else
		fprintf(stream, "Time:      not modelled; %.2f s here\n", here);
}

/* What --delay real spent here. */
static void
print_delay(const struct emulation_report *report, FILE *stream)
{
	if (report->setup->delay == DELAY_REAL)
		fprintf(stream, "Delayed:   %.3f s of all threads were spent here for stalls\n",
		        (double)sum_of(report)->delayed_ns / 1e9);
}

static size_t
count_threads(const struct counters *counters)
{
	size_t count = 0;

	for (size_t i = 0; i < counters->count; i++)
		count += counters->programs[i].vcpu_count;
	return count;
}

/* A process executes one program after the other. */
static size_t
count_processes(const struct counters *counters)
{
	size_t count = 0;

	for (size_t i = 0; i < counters->count; i++) {
		size_t j = 0;

		while (counters->programs[j].pid != counters->programs[i].pid)
			j++;
		count += i == j;
	}
	return count;
}

static void
print_executed(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	const uint64_t instructions = report->outcome->executed.instructions;
	const size_t threads = count_threads(counters), processes = count_processes(counters);

	fprintf(stream, "Executed:  %zu %s, %zu %s, %zu %s, %" PRIu64 " instructions", processes,
	        processes == 1 ? "process" : "processes", counters->count,
	        counters->count == 1 ? "program" : "programs", threads, threads == 1 ? "thread" : "threads",
	        instructions);
	if (report->setup->parts & SETUP_CLOCK && counters->busy_cycles)
		fprintf(stream, ", %.2f a busy cycle", (double)instructions / (double)counters->busy_cycles);
	fputc('\n', stream);
}

static bool
has_several_threads(const struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		if (counters->programs[i].vcpu_count > 1)
			return true;
	return false;
}

static int
print_tables(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	const bool has_clock = report->setup->parts & SETUP_CLOCK;
	int err = 0;

	fputc('\n', stream);
	if (has_clock)
		err = emu_report_print_reasons(report, stream);
	if (!err)
		err = emu_report_print_levels(report, stream);
	if (!err)
		err = emu_report_print_nodes(report, stream);
	if (!err && has_clock && has_several_threads(counters) && (counters->count == 1 || report->by_process))
		err = emu_report_print_threads(report, stream);
	if (!err && has_clock && report->by_process)
		err = emu_report_print_programs(report, stream);
	return err;
}

static void
print_what_is_missing(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	uint64_t unfollowed = 0, unrecorded = 0;

	for (size_t i = 0; i < counters->count; i++) {
		unfollowed += counters->programs[i].unfollowed;
		unrecorded += counters->programs[i].unrecorded;
	}
	if (unfollowed)
		fprintf(stream, "Missing:   %" PRIu64 " program%s that %s started could not be followed\n", unfollowed,
		        unfollowed > 1 ? "s" : "", unfollowed > 1 ? "were" : "was");
	if (unrecorded)
		fprintf(stream, "Missing:   %" PRIu64 " block%s of code or stalls found no room\n", unrecorded,
		        text_plural(unrecorded));
	if (counters->running)
		fprintf(stream, "Missing:   %zu %s from now on is not in it\n", counters->running,
		        counters->running == 1 ? "process still runs; what it does"
		                               : "processes still run; what they do");
	if (counters->damaged)
		fprintf(stream, "Missing:   the records of %zu process%s damaged\n", counters->damaged,
		        counters->damaged == 1 ? " are" : "es are");
	if (sum_of(report)->timeouts)
		fprintf(stream, "Waits:     %" PRIu64 " of %" PRIu64 " for slower threads ended without them\n",
		        sum_of(report)->timeouts, sum_of(report)->waits);
}

int
emulation_report_text(const struct emulation_report *report, FILE *stream)
{
	char *database, *label;
	int err;

	print_time(report, stream);
	print_delay(report, stream);
	print_executed(report, stream);
	err = print_tables(report, stream);
	if (err)
		return err;
	print_what_is_missing(report, stream);
	database = report->database ? text_shown(report->database) : NULL;
	label = report->label ? text_shown(report->label) : NULL;
	if (report->outcome->epoch)
		fprintf(stream, "Profile:   epoch %" PRIu32 " of %s%s%s\n", report->outcome->epoch,
		        database ? database : "?", label ? ", label " : "", label ? label : "");
	free(label);
	free(database);
	return fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
}
