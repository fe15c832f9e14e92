/* CPUs that come and go. */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "collectord/machine.h"

#define ALIVE_TRIES       3
#define ALIVE_PAUSE_NS    1000000 /* longer than the coarsest clock of a kernel takes for a step of a few */
#define RETRY_INTERVAL_NS UINT64_C(10000000000)

static struct sampler_cpu *
find_cpu(const struct sampler *sampler, uint32_t number)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (sampler->cpus[i].number == number)
			return &sampler->cpus[i];
	return NULL;
}

/* The place of CPU `number`; NULL: no memory. Places may move, but keep their index, by which the merge knows them. */
static struct sampler_cpu *
make_place(struct sampler *sampler, uint32_t number)
{
	struct sampler_cpu *cpu = find_cpu(sampler, number), *cpus;

	if (cpu)
		return cpu;
	cpus = array_grow(sampler->cpus, &sampler->cpu_capacity, sampler->cpu_count + 1, sizeof(*cpus));
	if (!cpus)
		return NULL;
	sampler->cpus = cpus;
	cpu = &sampler->cpus[sampler->cpu_count++];
	sampler_cpu_init(cpu, number);
	return cpu;
}

int
sampler_add_cpu(struct sampler *sampler, uint32_t number)
{
	struct sampler_cpu *cpu = make_place(sampler, number);
	int err;

	if (!cpu)
		return -ENOMEM;
	err = sampler_cpu_open(sampler, cpu);
	if (err && err != cpu->error)
		log_write(sampler->log, LOG_LEVEL_WARNING, "cpu %u: is not sampled: %s", number, error_text(err));
	cpu->error = err;
	return err;
}

/*
 * Do the events of this CPU still count? When a CPU goes, the kernel takes them off it for good, also when it comes
 * back at once, or with the machine out of its sleep: then the time for which they were enabled stands still.
 */
static bool
is_alive(const struct sampler *sampler, struct sampler_cpu *cpu)
{
	const struct timespec pause = {.tv_nsec = ALIVE_PAUSE_NS};
	struct sampler_counter *counter = &cpu->sideband_counter;
	uint64_t before_ns;

	if (!sampler_counter_read(sampler, counter))
		return false;
	before_ns = counter->read.enabled_ns;
	for (int i = 0; i < ALIVE_TRIES; i++) {
		if (sampler_counter_read(sampler, counter) && counter->read.enabled_ns != before_ns)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool
has_gone(const struct sampler *sampler, struct sampler_cpu *cpu, const uint32_t *online, int count)
{
	return cpu->open && (!cpu_list_has(online, count, cpu->number) || !is_alive(sampler, cpu));
}

bool
sampler_is_outdated(const struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online);
	bool outdated = false;

	for (size_t i = 0; count > 0 && !outdated && i < sampler->cpu_count; i++)
		outdated = has_gone(sampler, &sampler->cpus[i], online, count);
	for (int i = 0; !outdated && i < count; i++) {
		const struct sampler_cpu *cpu = find_cpu(sampler, online[i]);

		outdated = !cpu || !cpu->open;
	}
	free(online);
	return outdated;
}

/* What happened on a CPU before its events were open, nobody recorded. */
static void
add_those_that_came(struct sampler *sampler, const uint32_t *online, int count)
{
	for (int i = 0; i < count; i++) {
		const struct sampler_cpu *cpu = find_cpu(sampler, online[i]);

		if ((cpu && cpu->open) || sampler_add_cpu(sampler, online[i]))
			continue;
		sampler_miss_records(sampler);
		sampler->rescan_ns = 0; /* at the next drain */
		log_write(sampler->log, LOG_LEVEL_NOTICE, "cpu %u came online: it is sampled from here on", online[i]);
	}
}

int
sampler_add_cpus(struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online);

	if (count < 0)
		return count;
	add_those_that_came(sampler, online, count);
	free(online);
	return 0;
}

int
sampler_follow_cpus(struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online), err;

	if (count < 0)
		return count;
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		if (!has_gone(sampler, cpu, online, count))
			continue;
		sampler_cpu_close(sampler, cpu);
		log_write(sampler->log, LOG_LEVEL_NOTICE, "cpu %u went offline: what it had recorded is counted",
		          cpu->number);
	}
	err = sampler_find_places(sampler); /* which may have changed with them */
	if (!err)
		add_those_that_came(sampler, online, count);
	free(online);
	return err;
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

void
sampler_cpu_list(const struct sampler *sampler, char *text, size_t size)
{
	uint32_t *numbers = calloc(sampler->cpu_count, sizeof(*numbers));
	size_t count = 0;

	text[0] = '\0';
	if (!numbers)
		return;
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (sampler->cpus[i].open)
			numbers[count++] = sampler->cpus[i].number;
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	cpu_list_format(numbers, count, text, size);
	free(numbers);
}

bool
sampler_retry_events(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool is_time = false;

	if (now_ns - sampler->retry_ns < RETRY_INTERVAL_NS)
		return false;
	sampler->retry_ns = now_ns;
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		if (cpu->open && cpu->incomplete)
			is_time |= sampler_cpu_open_events(sampler, cpu) > 0;
		else if (!cpu->open && cpu->error && cpu->error != -ENODEV)
			is_time = true;
	}
	return is_time;
}
