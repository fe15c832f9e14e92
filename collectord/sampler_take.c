/* What was counted, taken to be written. */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
move_loss(struct slice *slice, struct sampler_counter *counter, uint32_t cpu, uint16_t event, uint64_t skipped)
{
	struct sampler_loss *loss = &counter->loss;

	if (slice->cpus && (loss->lost || loss->throttled || skipped))
		slice->cpus[slice->cpu_count++] = (struct slice_cpu){
			.cpu = cpu,
			.event = event,
			.lost = loss->lost,
			.throttled = loss->throttled,
			.skipped = skipped,
		};
	if (event == SLICE_SIDEBAND) {
		slice->sideband_lost += loss->lost;
	} else {
		slice->events[event].enabled_ns += counter->enabled_ns;
		slice->events[event].running_ns += counter->running_ns;
		slice->events[event].lost += loss->lost;
		slice->events[event].throttled += loss->throttled;
	}
	slice->skipped += skipped;
	loss->lost = 0;
	loss->throttled = 0;
	counter->enabled_ns = 0;
	counter->running_ns = 0;
}

/* What the event's counter for idle CPUs says is the event's; for how long it counted, its sum says (overhead.h). */
static void
add_idle_counter(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, struct slice *slice)
{
	struct sampler_counter *usual = &cpu->counters[event], *rare = &cpu->idle[event].counter;
	struct slice_event *sum = &slice->events[sampler->sums[event]];

	sampler_counter_read(sampler, rare);
	if (rare->enabled_ns) {
		sum->enabled_ns += rare->enabled_ns;
		sum->running_ns += rare->running_ns;
	}
	usual->enabled_ns += rare->enabled_ns;
	usual->running_ns += rare->running_ns;
	usual->loss.lost += rare->loss.lost;
	rare->enabled_ns = 0;
	rare->running_ns = 0;
	rare->loss.lost = 0;
}

static void
move_cpu_losses(struct sampler *sampler, struct sampler_cpu *cpu, struct slice *slice)
{
	uint64_t skipped = cpu->skipped + (cpu->samples ? ring_take_skipped(cpu->samples) : 0);

	cpu->skipped = 0;
	for (size_t e = 0; e < sampler->event_count; e++) {
		sampler_counter_read(sampler, &cpu->counters[e]);
		add_idle_counter(sampler, cpu, e, slice);
		move_loss(slice, &cpu->counters[e], cpu->number, (uint16_t)e, skipped);
		skipped = 0;
	}
	sampler_counter_read(sampler, &cpu->sideband_counter);
	move_loss(slice, &cpu->sideband_counter, cpu->number, SLICE_SIDEBAND,
	          cpu->sideband ? ring_take_skipped(cpu->sideband) : 0);
}

struct tally *
sampler_take(struct sampler *sampler, struct tally *empty, struct slice *slice)
{
	struct tally *filled = sampler->tally;

	sampler->tally = empty;
	slice->event_count = sampler->event_count + sampler->sum_count;
	memcpy(slice->events, sampler->totals, sizeof(sampler->totals));
	memset(sampler->totals, 0, sizeof(sampler->totals));
	slice->sideband_lost = 0;
	slice->skipped = 0;
	slice->cpu_count = 0;
	slice->cpus = calloc(sampler->cpu_count * (sampler->event_count + 1), sizeof(*slice->cpus));
	for (size_t i = 0; i < sampler->cpu_count; i++)
		move_cpu_losses(sampler, &sampler->cpus[i], slice);
	return filled;
}

int
sampler_renew(struct sampler *sampler, struct image_table **images, struct context_table **contexts)
{
	struct image_table *new_images = image_table_new();
	struct context_table *new_contexts = context_table_new();

	if (!new_images || !new_contexts) {
		image_table_free(new_images);
		context_table_free(new_contexts);
		return -ENOMEM;
	}
	*images = sampler->images;
	*contexts = sampler->contexts;
	sampler->images = new_images;
	sampler->contexts = new_contexts;
	attribution_reset_ids(sampler->attribution, new_images, new_contexts);
	return 0;
}
