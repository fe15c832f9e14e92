#include "collectord/sample_cost.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpu_list.h"
#include "collectord/machine.h"
#include "stream/ring.h"

#define WORK_NS               UINT64_C(12000000) /* of steps without an interruption */
#define PATIENCE_NS           UINT64_C(60000000)
#define INTERRUPTION_NS       100000 /* a longer step had a pause in it */
#define RING_PAGES            16
#define SAMPLE_COST_STEPS_MAX 16384
#define COSTS_MAX             1024
#define COSTS_MIN             16
#define STRETCHES             4   /* that are judged apart */
#define ATTEMPTS              3   /* of a thread that nothing binds to its CPU */
#define IDLE_STEP_NS          200 /* reading the clock takes less, also where it is slow, than a sample */

/* Often enough for a hundred samples, seldom enough for a step between them. */
#define CLOCK_PERIOD_NS 100000
#define COUNTER_PERIOD  200003
#define FAULT_PERIOD    7

struct cost_step {
	uint64_t begin_ns, end_ns;
};

struct cost_meter {
	int fd;
	struct ring *ring;
	struct record_layout layout;
	void *page; /* to be touched; NULL: arithmetic will do */
	size_t page_size;
	uint64_t elapsed_ns;
	struct cost_step *steps; /* those worth remembering, by time */
	size_t step_count;
	uint64_t costs[COSTS_MAX];
	size_t cost_count;
};

static bool
is_page_fault(const struct event *event)
{
	return event->encoding.type == PERF_TYPE_SOFTWARE && event->encoding.config == PERF_COUNT_SW_PAGE_FAULTS;
}

static void
take_step(const struct cost_meter *meter)
{
	if (!meter->page)
		return;
	madvise(meter->page, meter->page_size, MADV_DONTNEED);
	*(volatile char *)meter->page = 1;
}

static uint64_t
median(uint64_t *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), array_compare_u64);
	return numbers[count / 2];
}

/* Others disturb for a while and only ever make it longer: the median of the quietest stretch, by time. */
static uint64_t
quietest_median(uint64_t *costs, size_t count)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < STRETCHES; i++) {
		const size_t begin = count * i / STRETCHES, end = count * (i + 1) / STRETCHES;
		const uint64_t here = median(costs + begin, end - begin);

		least = here < least ? here : least;
	}
	return least;
}

static void
work(struct cost_meter *meter)
{
	/* reading the clock takes a constant time, far less than a sample; the time of a page fault varies, and counts
	 */
	const uint64_t long_ns = meter->page ? 0 : IDLE_STEP_NS;
	const uint64_t begin_ns = machine_clock_ns(CLOCK_MONOTONIC);
	uint64_t before_ns = begin_ns, worked_ns = 0;

	while (worked_ns < WORK_NS && before_ns - begin_ns < PATIENCE_NS && meter->step_count < SAMPLE_COST_STEPS_MAX) {
		uint64_t now_ns;

		take_step(meter);
		now_ns = machine_clock_ns(CLOCK_MONOTONIC);
		if (now_ns - before_ns >= long_ns)
			meter->steps[meter->step_count++] = (struct cost_step){before_ns, now_ns};
		if (now_ns - before_ns < INTERRUPTION_NS)
			worked_ns += now_ns - before_ns;
		before_ns = now_ns;
	}
	meter->elapsed_ns = before_ns - begin_ns;
}

/* The step that was under way at `time_ns`; NULL when it was too short to be remembered. */
static const struct cost_step *
find_step(const struct cost_meter *meter, uint64_t time_ns)
{
	const size_t at = ARRAY_LOWER_BOUND(meter->steps, meter->step_count, end_ns, time_ns);

	return at < meter->step_count && meter->steps[at].begin_ns <= time_ns ? &meter->steps[at] : NULL;
}

static uint64_t
subtract(uint64_t from, uint64_t what)
{
	return what < from ? from - what : 0;
}

/* How long a step takes without a sample: six in seven page faults have none; of reading the clock it is next to none.
 */
static uint64_t
length_without_sample(const struct cost_meter *meter)
{
	uint64_t *lengths, middle;

	if (!meter->page || meter->step_count == 0)
		return 0;
	lengths = calloc(meter->step_count, sizeof(*lengths));
	if (!lengths)
		return 0;
	for (size_t i = 0; i < meter->step_count; i++)
		lengths[i] = meter->steps[i].end_ns - meter->steps[i].begin_ns;
	middle = median(lengths, meter->step_count);
	free(lengths);
	return middle;
}

/* Only samples of this thread: those of others were taken while it did not run. */
static void
find_costs(struct cost_meter *meter)
{
	const uint64_t without_ns = length_without_sample(meter);
	const uint32_t self = (uint32_t)gettid();
	struct record record;

	while (ring_peek(meter->ring, &meter->layout, &record) == 1 && meter->cost_count < COSTS_MAX) {
		if (record.type == RECORD_SAMPLE && record.tid == self) {
			const struct cost_step *found = find_step(meter, record.time);

			meter->costs[meter->cost_count++] =
				found ? subtract(found->end_ns - found->begin_ns, without_ns) : 0;
		}
		ring_consume(meter->ring);
	}
}

static int
measure(struct cost_meter *meter, struct sample_cost *cost)
{
	uint64_t count;

	if (ioctl(meter->fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	work(meter);
	if (ioctl(meter->fd, PERF_EVENT_IOC_DISABLE, 0))
		return -errno;
	if (TEMP_FAILURE_RETRY(read(meter->fd, &count, sizeof(count))) != sizeof(count))
		return -EIO;
	find_costs(meter);
	if (meter->cost_count < COSTS_MIN)
		return -EAGAIN;
	*cost = (struct sample_cost){
		.cost_ns = quietest_median(meter->costs, meter->cost_count),
		.count_rate = (uint64_t)((double)count * 1e9 / (double)meter->elapsed_ns),
		.samples = (unsigned)meter->cost_count,
	};
	return 0;
}

static int
meter_open(struct cost_meter *meter, const struct event *event, const struct event_features *features, int cpu)
{
	struct event sampled = *event;
	struct perf_event_attr attr;

	meter->steps = calloc(SAMPLE_COST_STEPS_MAX, sizeof(*meter->steps));
	if (!meter->steps)
		return -ENOMEM;
	sampled.period = event_is_clock(&event->encoding) ? CLOCK_PERIOD_NS
	                 : is_page_fault(event)           ? FAULT_PERIOD
	                                                  : event_period_near(event, COUNTER_PERIOD);
	event_sample_attr(&sampled, features, &attr);
	attr.read_format = 0; /* the count alone */
	attr.watermark = 1;
	attr.wakeup_watermark = UINT32_MAX / 2; /* the ring is read without waiting for it */
	meter->layout.sample_type = attr.sample_type;
	meter->layout.sample_id_all = attr.sample_id_all;
	meter->fd = event_open_system(NULL, &attr, cpu);
	if (meter->fd < 0)
		return meter->fd;
	meter->ring = ring_new(meter->fd, RING_PAGES);
	if (!meter->ring)
		return -errno;
	if (!is_page_fault(event))
		return 0;
	meter->page_size = (size_t)sysconf(_SC_PAGESIZE);
	meter->page = mmap(NULL, meter->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (meter->page == MAP_FAILED) {
		meter->page = NULL;
		return -errno;
	}
	return 0;
}

static void
meter_close(struct cost_meter *meter)
{
	if (meter->page)
		munmap(meter->page, meter->page_size);
	free(meter->steps);
	ring_free(meter->ring);
	if (meter->fd >= 0)
		close(meter->fd);
}

/* A CPU that counts the event: the present one if it does; negative when we may not run on any. */
static int
choose_cpu(const struct event *event, const cpu_set_t *allowed, int present)
{
	uint32_t *places;
	int count = event_cpus("/sys", event->name, &places), cpu = present;

	if (count < 0)
		return count;
	if (count > 0 && (cpu < 0 || !cpu_list_has(places, count, (uint32_t)cpu)))
		cpu = -ENODEV;
	for (int i = 0; i < count && cpu < 0; i++)
		if (places[i] < CPU_SETSIZE && CPU_ISSET(places[i], allowed))
			cpu = (int)places[i];
	free(places);
	return cpu;
}

/*
 * Stay on a CPU that counts the event; `before` is what was allowed. The CPU, or -errno. A thread that may not bind
 * itself (the service's filter of calls) stays where it is as long as the kernel leaves it there, and *is_bound is
 * false.
 */
static int
stay(const struct event *event, cpu_set_t *before, bool *is_bound)
{
	const int present = sched_getcpu();
	cpu_set_t only;
	int cpu;

	if (sched_getaffinity(0, sizeof(*before), before))
		return -errno;
	cpu = choose_cpu(event, before, present);
	if (cpu < 0)
		return cpu;
	if (cpu >= CPU_SETSIZE)
		return -ENOTSUP;
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	*is_bound = sched_setaffinity(0, sizeof(only), &only) == 0;
	return *is_bound || (errno == EPERM && cpu == present) ? cpu : -errno;
}

/* -ESTALE when the kernel moved the thread to another CPU. */
static int
measure_here(const struct event *event, const struct event_features *features, struct sample_cost *cost)
{
	struct cost_meter *meter;
	cpu_set_t before;
	bool is_bound = false;
	int cpu, err;

	cpu = stay(event, &before, &is_bound);
	if (cpu < 0)
		return cpu;
	meter = calloc(1, sizeof(*meter));
	if (!meter) {
		err = -ENOMEM;
		goto out;
	}
	meter->fd = -1;
	err = meter_open(meter, event, features, cpu);
	if (!err)
		err = measure(meter, cost);
	if ((!err || err == -EAGAIN) && sched_getcpu() != cpu)
		err = -ESTALE;
	meter_close(meter);
out:
	free(meter);
	if (is_bound)
		sched_setaffinity(0, sizeof(before), &before);
	return err;
}

int
sample_cost_measure(const struct event *event, const struct event_features *features, struct sample_cost *cost)
{
	int err = -ESTALE;

	for (unsigned attempt = 0; err == -ESTALE && attempt < ATTEMPTS; attempt++)
		err = measure_here(event, features, cost);
	return err == -ESTALE ? -EAGAIN : err;
}
