/*
 * record_rings - record what dcpid's rings hold while a command runs, byte for byte
 *
 * record_rings FILE PERIOD,EVENT... -- COMMAND [ARGUMENT...]
 *
 * Opens the events and the records about processes as dcpid does, on every CPU, and writes the rings' bytes into FILE
 * in the form of perf.data, so that `perf script` can say what is in them. A record's ring is told by its id: the ids
 * of an event are in the order of the CPUs, the sideband comes first. Nothing may be lost: the rings are not read
 * before the command has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "tests/perf_file.h"

#define EVENTS_USED_MAX 4
#define KINDS_MAX       (1 + EVENTS_USED_MAX) /* the sideband first */
#define CPUS_MAX        8
#define SAMPLE_PAGES    512
#define SIDEBAND_PAGES  512

struct ring_counter {
	int fd;
	uint64_t id;
};

struct live_recording {
	uint32_t cpu_count;
	int kinds; /* the sideband, and each event */
	struct perf_event_attr attrs[KINDS_MAX];
	struct ring_counter counters[KINDS_MAX][CPUS_MAX];
	struct perf_event_mmap_page *rings[2][CPUS_MAX]; /* sideband, samples */
};

static void
die(const char *what, int err)
{
	fprintf(stderr, "record_rings: %s: %s\n", what, strerror(err));
	exit(EXIT_FAILURE);
}

static void
resolve(struct live_recording *recording, char **events)
{
	const struct event_environment environment = {.open = event_open_system, .sysfs = "/sys", .procfs = "/proc"};
	struct event_features features;
	char why[EVENT_NOTE_SIZE];
	int err = event_features_probe(&environment, &features);

	if (err)
		die("perf events", -err);
	event_sideband_attr(&features, &recording->attrs[0]);
	for (int i = 0; i < recording->kinds - 1; i++) {
		struct event_spec spec = {.user = true, .kernel = true};
		struct event event;
		char *name;

		spec.period = strtoull(events[i], &name, 10);
		snprintf(spec.name, sizeof(spec.name), "%s", *name ? name + 1 : "");
		err = event_resolve(&environment, &spec, &event, why, sizeof(why));
		if (err || !event.available) {
			fprintf(stderr, "record_rings: %s: %s\n", events[i], err ? why : event.note);
			exit(EXIT_FAILURE);
		}
		event_sample_attr(&event, &features, &recording->attrs[1 + i]);
	}
}

static struct perf_event_mmap_page *
map_ring(int fd, size_t pages)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *ring = mmap(NULL, (1 + pages) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		die("mmap", errno);
	return ring;
}

static void
open_cpu(struct live_recording *recording, uint32_t cpu)
{
	for (int kind = 0; kind < recording->kinds; kind++) {
		struct ring_counter *counter = &recording->counters[kind][cpu];

		counter->fd = event_open_system(NULL, &recording->attrs[kind], (int)cpu);
		if (counter->fd < 0)
			die("perf_event_open", -counter->fd);
		if (ioctl(counter->fd, PERF_EVENT_IOC_ID, &counter->id))
			die("PERF_EVENT_IOC_ID", errno);
		if (kind == 0)
			recording->rings[0][cpu] = map_ring(counter->fd, SIDEBAND_PAGES);
		else if (kind == 1)
			recording->rings[1][cpu] = map_ring(counter->fd, SAMPLE_PAGES);
		else if (ioctl(counter->fd, PERF_EVENT_IOC_SET_OUTPUT, recording->counters[1][cpu].fd))
			die("PERF_EVENT_IOC_SET_OUTPUT", errno);
	}
}

static void
control(const struct live_recording *recording, unsigned long request)
{
	for (uint32_t cpu = 0; cpu < recording->cpu_count; cpu++)
		for (int kind = 0; kind < recording->kinds; kind++)
			if (ioctl(recording->counters[kind][cpu].fd, request, 0))
				die("cannot begin or end counting", errno);
}

static void
run(char **command)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		die("fork", errno);
	if (child == 0) {
		execv(command[0], command);
		die(command[0], errno);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		die(command[0], ECHILD);
}

/* The kernel's own count of what found no room is the last thing that it tells. */
static void
check_lost(const struct live_recording *recording)
{
	for (uint32_t cpu = 0; cpu < recording->cpu_count; cpu++)
		for (int kind = 0; kind < recording->kinds; kind++) {
			uint64_t values[8] = {0};
			ssize_t size = read(recording->counters[kind][cpu].fd, values, sizeof(values));

			if (size < (ssize_t)sizeof(values[0]))
				die("read", errno);
			if (values[(size_t)size / sizeof(values[0]) - 1])
				die("records were lost", ENOSPC);
		}
}

static void
put(FILE *file, const void *data, size_t size)
{
	if (fwrite(data, 1, size, file) != size)
		die("write", errno);
}

/* Also says where in the file each is. */
static uint64_t
put_rings(const struct live_recording *recording, FILE *file)
{
	uint64_t size = 0;

	for (int kind = 0; kind < 2; kind++)
		for (uint32_t cpu = 0; cpu < recording->cpu_count; cpu++) {
			const struct perf_event_mmap_page *ring = recording->rings[kind][cpu];

			printf("%s %" PRIu32 ": %llu bytes at %ld\n", kind ? "samples" : "sideband", cpu,
			       (unsigned long long)ring->data_head, ftell(file));
			put(file, (const char *)ring + ring->data_offset,
			    ring->data_head); /* never wraps: all is there */
			size += ring->data_head;
		}
	return size;
}

static void
put_file(const struct live_recording *recording, FILE *file)
{
	uint64_t ids_size = recording->cpu_count * sizeof(uint64_t);
	struct perf_file_header header = {"PERFILE2", sizeof(header),
	                                  sizeof(recording->attrs[0]) + sizeof(struct perf_file_section)};

	header.attrs.offset = sizeof(header) + (uint64_t)recording->kinds * ids_size;
	header.attrs.size = (uint64_t)recording->kinds * header.attr_size;
	header.data.offset = header.attrs.offset + header.attrs.size;
	put(file, &header, sizeof(header));
	for (int kind = 0; kind < recording->kinds; kind++)
		for (uint32_t cpu = 0; cpu < recording->cpu_count; cpu++)
			put(file, &recording->counters[kind][cpu].id, sizeof(uint64_t));
	for (uint64_t kind = 0; kind < (uint64_t)recording->kinds; kind++) {
		struct perf_file_section ids = {sizeof(header) + kind * ids_size, ids_size};

		put(file, &recording->attrs[kind], sizeof(recording->attrs[kind]));
		put(file, &ids, sizeof(ids));
	}
	header.data.size = put_rings(recording, file);
	rewind(file);
	put(file, &header, sizeof(header));
	if (fclose(file))
		die("write", errno);
}

int
main(int argc, char **argv)
{
	struct live_recording recording = {.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), .kinds = 1};
	FILE *file;

	while (argc > 1 + recording.kinds && strcmp(argv[1 + recording.kinds], "--") != 0)
		recording.kinds++;
	if (argc < 3 + recording.kinds || recording.kinds < 2 || recording.kinds > KINDS_MAX ||
	    recording.cpu_count > CPUS_MAX)
		die("usage: record_rings FILE PERIOD,EVENT... -- COMMAND [ARGUMENT...]", EINVAL);
	resolve(&recording, argv + 2);
	for (uint32_t cpu = 0; cpu < recording.cpu_count; cpu++)
		open_cpu(&recording, cpu);
	file = fopen(argv[1], "we");
	if (!file)
		die(argv[1], errno);
	control(&recording, PERF_EVENT_IOC_ENABLE);
	run(argv + 2 + recording.kinds);
	control(&recording, PERF_EVENT_IOC_DISABLE);
	check_lost(&recording);
	put_file(&recording, file);
	return 0;
}
