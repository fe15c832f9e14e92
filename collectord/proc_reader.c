#include "collectord/proc_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collectord/helper.h"
#include "process/cgroup_table.h"
#include "process/proc.h"

#define DIRECTORY_SIZE 1024
#define SILENT_MAX     16 /* processes that did not answer */
#define ASKED_A_SECOND 64
#define PACKET_AGE_NS  UINT64_C(20000000)  /* that waits to be filled */
#define LOOK_NS        UINT64_C(100000000) /* between two polls of a child that sends nothing */
#define FAILURES_MAX   3                   /* children that end on their way, one after the other */

/* A packet for the child. */
struct proc_request {
	uint32_t pid;  /* 0: all */
	uint32_t from; /* of all: the first */
	bool cgroups;
	uint32_t processes[SILENT_MAX]; /* that did not answer; 0: none */
	struct silent_devices devices;
	char procfs[DIRECTORY_SIZE], cgroupfs[DIRECTORY_SIZE];
};

/* What the child is reading, in memory that it shares with dcpid. */
struct proc_progress {
	_Atomic uint32_t pid;
	_Atomic bool opens; /* a file of this device */
	_Atomic uint32_t major, minor;
};

/* The child sends packets of items, each of which begins with this. */
enum proc_item_type { ITEM_CGROUP, ITEM_PROCESS, ITEM_MAPPING, ITEM_WHOLE, ITEM_END };

/* Behind it stands a text with its NUL: the name of a process, or the path of a cgroup or mapping. */
struct proc_item {
	uint32_t type, size; /* with the text */
	uint32_t pid;
	int32_t error; /* of ITEM_WHOLE and ITEM_END */
	/* of ITEM_PROCESS */
	uint64_t time_ns;
	struct proc_stat birth;
	/* of ITEM_CGROUP */
	uint64_t id;
	/* of ITEM_MAPPING, without its path */
	struct record_mmap mmap;
};

struct silent_process {
	uint32_t pid; /* 0: none */
	uint64_t until_ns;
};

struct proc_reader {
	struct attribution *attribution;
	const struct log *log;
	struct helper helper;
	struct proc_request request;
	bool is_reading;    /* the request */
	uint32_t whole_pid; /* the last process that was sent whole */
	uint64_t heard_ns;  /* CLOCK_MONOTONIC, of the child */
	unsigned failures;
	uint32_t waiting[PROC_READER_WAITING_MAX];
	size_t waiting_count;
	uint64_t asked_ns; /* the second in which `asked` were */
	unsigned asked, refused;
	struct silent_process processes[SILENT_MAX]; /* the latest first */
	struct proc_reader_stats stats;
};

/* ---- the child ---- */

struct proc_reading {
	int socket;
	struct proc_progress *progress;
	const struct proc_request *request;
	uint64_t time_ns;   /* when the reading of the process began */
	uint64_t packet_ns; /* when the packet was begun */
	size_t size;
	bool is_closed; /* dcpid has closed the socket */
	uint8_t packet[HELPER_PACKET_SIZE];
};

static void
send_packet(struct proc_reading *reading)
{
	if (reading->size > 0 && !helper_answer(reading->socket, reading->packet, reading->size, -1))
		reading->is_closed = true;
	reading->size = 0;
}

static int
send_item(struct proc_reading *reading, struct proc_item *item, const char *text)
{
	const size_t length = strnlen(text, PATH_MAX - 1);
	const size_t size = (sizeof(*item) + length + 1 + 7) / 8 * 8;

	if (reading->size + size > sizeof(reading->packet))
		send_packet(reading);
	if (reading->size == 0)
		reading->packet_ns = monotonic_ns();
	item->size = (uint32_t)size;
	memcpy(reading->packet + reading->size, item, sizeof(*item));
	memset(reading->packet + reading->size + sizeof(*item), 0, size - sizeof(*item));
	memcpy(reading->packet + reading->size + sizeof(*item), text, length);
	reading->size += size;
	return reading->is_closed ? -ENOMEM : 0; /* which ends it */
}

static int
send_cgroup(void *context, uint64_t id, const char *path)
{
	return send_item(context, &(struct proc_item){.type = ITEM_CGROUP, .id = id}, path);
}

static int
begin_process(void *context, uint32_t pid)
{
	struct proc_reading *reading = context;

	if (pid < reading->request->from)
		return PROC_SCAN_PASS;
	reading->progress->opens = false;
	reading->progress->pid = pid;
	reading->time_ns = monotonic_ns();
	return 0;
}

static int
end_process(void *context, uint32_t pid, int error)
{
	struct proc_reading *reading = context;
	int err = send_item(reading, &(struct proc_item){.type = ITEM_WHOLE, .pid = pid, .error = error}, "");

	if (monotonic_ns() - reading->packet_ns > PACKET_AGE_NS)
		send_packet(reading);
	return err;
}

static int
send_process(void *context, const struct proc_scan_process *process)
{
	struct proc_reading *reading = context;
	struct proc_item item = {
		.type = ITEM_PROCESS, .pid = process->pid, .time_ns = reading->time_ns, .birth = process->birth};
	int err = send_item(reading, &item, process->comm);

	for (size_t i = 0; !err && i < SILENT_MAX; i++)
		if (reading->request->processes[i] == process->pid)
			err = end_process(reading, process->pid, -ETIMEDOUT) ? -ENOMEM : PROC_SCAN_PASS;
	return err;
}

static int
send_mapping(void *context, uint32_t pid, const struct record_mmap *mmap)
{
	struct proc_reading *reading = context;
	struct proc_item item = {.type = ITEM_MAPPING, .pid = pid, .mmap = *mmap};

	reading->progress->opens = false;
	item.mmap.path = NULL;
	return send_item(reading, &item, mmap->path);
}

static bool
may_open(void *context, const struct record_mmap *mmap)
{
	struct proc_reading *reading = context;

	if (helper_devices_have(&reading->request->devices, mmap->device_major, mmap->device_minor))
		return false;
	reading->progress->major = mmap->device_major;
	reading->progress->minor = mmap->device_minor;
	reading->progress->opens = true;
	return true;
}

static void
read_processes(int socket, void *shared)
{
	struct proc_request request;
	struct proc_reading *reading = calloc(1, sizeof(*reading));
	const struct proc_scan_visitor visitor = {
		.begin = begin_process,
		.process = send_process,
		.mapping = send_mapping,
		.end = end_process,
		.may_open = may_open,
		.context = reading,
	};
	int err;

	if (!reading)
		return;
	reading->socket = socket;
	reading->progress = shared;
	reading->request = &request;
	while (!reading->is_closed && helper_next(socket, &request, sizeof(request), NULL) == sizeof(request)) {
		if (request.cgroups)
			(void)cgroup_table_walk(request.cgroupfs, send_cgroup, reading);
		err = proc_scan(request.procfs, request.pid, &visitor);
		(void)send_item(reading, &(struct proc_item){.type = ITEM_END, .error = err}, "");
		send_packet(reading);
	}
	free(reading);
}

/* ---- what is asked ---- */

struct proc_reader *
proc_reader_new(const char *procfs, const char *cgroupfs, struct attribution *attribution, const struct log *log)
{
	struct proc_reader *reader;

	if (strlen(procfs) >= DIRECTORY_SIZE || strlen(cgroupfs) >= DIRECTORY_SIZE) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->attribution = attribution;
	reader->log = log;
	memcpy(reader->request.procfs, procfs, strlen(procfs));
	memcpy(reader->request.cgroupfs, cgroupfs, strlen(cgroupfs));
	helper_init(&reader->helper, read_processes);
	if (helper_share(&reader->helper, sizeof(struct proc_progress)) == 0)
		return reader;
	free(reader);
	return NULL;
}

void
proc_reader_free(struct proc_reader *reader)
{
	if (!reader)
		return;
	helper_fini(&reader->helper);
	free(reader);
}

/* Have a child read the request, or what is left of it. */
static int
send_request(struct proc_reader *reader)
{
	for (size_t i = 0; i < SILENT_MAX; i++)
		reader->request.processes[i] = reader->processes[i].pid;
	helper_devices_renew(&reader->request.devices, &reader->helper);
	reader->heard_ns = monotonic_ns();
	return helper_send(&reader->helper, &reader->request, sizeof(reader->request), -1);
}

static void
end_request(struct proc_reader *reader, int error)
{
	const bool all = reader->request.pid == 0;

	reader->is_reading = false;
	attribution_found_end(reader->attribution, all);
	if (!all)
		return;
	reader->stats.scans++;
	reader->stats.error = error;
	reader->stats.refused = reader->refused;
}

/* As long as there is one that can be sent. */
static void
start_next(struct proc_reader *reader)
{
	int err;

	while (!reader->is_reading && reader->waiting_count > 0) {
		reader->request.pid = reader->waiting[0];
		reader->request.from = 0;
		reader->request.cgroups = false;
		memmove(&reader->waiting[0], &reader->waiting[1], --reader->waiting_count * sizeof(reader->waiting[0]));
		reader->is_reading = true;
		reader->failures = 0;
		err = send_request(reader);
		if (err)
			end_request(reader, err);
	}
}

int
proc_reader_ask_all(struct proc_reader *reader, bool cgroups)
{
	int err;

	if (reader->is_reading)
		return -EBUSY;
	reader->request.pid = reader->request.from = 0;
	reader->request.cgroups = cgroups;
	reader->whole_pid = 0;
	reader->refused = 0;
	reader->failures = 0;
	reader->is_reading = true;
	attribution_found_begin(reader->attribution, true);
	err = send_request(reader);
	if (err)
		end_request(reader, err);
	return err;
}

static bool
is_asked(const struct proc_reader *reader, uint32_t pid)
{
	bool is = reader->is_reading && reader->request.pid == pid;

	for (size_t i = 0; i < reader->waiting_count; i++)
		is |= reader->waiting[i] == pid;
	return is;
}

bool
proc_reader_ask(struct proc_reader *reader, uint32_t pid)
{
	const uint64_t now_ns = monotonic_ns();

	if (is_asked(reader, pid))
		return true;
	for (size_t i = 0; i < SILENT_MAX; i++)
		if (reader->processes[i].pid == pid)
			return false;
	if (now_ns - reader->asked_ns >= SECOND_NS) {
		reader->asked_ns = now_ns;
		reader->asked = 0;
	}
	if (reader->waiting_count == PROC_READER_WAITING_MAX || reader->asked == ASKED_A_SECOND)
		return false;
	reader->asked++;
	reader->waiting[reader->waiting_count++] = pid;
	attribution_found_begin(reader->attribution, false);
	start_next(reader);
	return true;
}

/* ---- what is found ---- */

/* A minute has passed since they did not answer. */
static void
retry_silent(struct proc_reader *reader)
{
	const uint64_t now_ns = monotonic_ns();

	for (size_t i = 0; i < SILENT_MAX; i++) {
		const uint32_t pid = reader->processes[i].pid;

		if (pid == 0 || reader->processes[i].until_ns > now_ns)
			continue;
		reader->processes[i].pid = 0;
		(void)proc_reader_ask(reader, pid);
	}
}

static void
record_silent(struct proc_reader *reader)
{
	const struct proc_progress *progress = reader->helper.shared;
	const uint64_t until_ns = monotonic_ns() + SILENT_NS;

	reader->stats.hung++;
	if (progress->opens) {
		const uint32_t major = progress->major, minor = progress->minor;

		(void)helper_devices_add(&reader->request.devices, major, minor, &reader->helper);
		log_write(reader->log, LOG_LEVEL_WARNING,
		          "the file system of device %" PRIu32 ":%" PRIu32
		          " does not answer: programs and libraries on it that run already are known by path alone",
		          major, minor);
		return;
	}
	memmove(&reader->processes[1], &reader->processes[0], sizeof(reader->processes) - sizeof(reader->processes[0]));
	reader->processes[0] = (struct silent_process){progress->pid, until_ns};
	log_write(reader->log, LOG_LEVEL_WARNING,
	          "process %" PRIu32
	          " does not let its mappings be read: it is asked again in a minute, and until then "
	          "samples of what it has mapped already are unknown",
	          (uint32_t)progress->pid);
}

/* The child has gone: another goes on where it was. */
static void
resume(struct proc_reader *reader, int error)
{
	int err = ++reader->failures > FAILURES_MAX ? error : 0;

	attribution_found_process_end(reader->attribution);
	reader->request.cgroups = false;
	reader->request.from = reader->request.pid ? 0 : reader->whole_pid + 1;
	if (!err)
		err = send_request(reader);
	if (err)
		end_request(reader, err);
}

static void
take_item(struct proc_reader *reader, const struct proc_item *item, const char *text)
{
	struct found_process found;
	struct record_mmap mmap;

	switch ((enum proc_item_type)item->type) {
	case ITEM_CGROUP:
		(void)attribution_found_cgroup(reader->attribution, item->id, text);
		break;
	case ITEM_PROCESS:
		found = (struct found_process){item->pid, item->time_ns, text, item->birth};
		(void)attribution_found_process(reader->attribution, &found);
		break;
	case ITEM_MAPPING:
		mmap = item->mmap;
		mmap.path = text;
		attribution_found_mapping(reader->attribution, &mmap);
		break;
	case ITEM_WHOLE:
		attribution_found_process_end(reader->attribution);
		reader->whole_pid = item->pid;
		reader->failures = 0;
		reader->stats.processes += item->error != -ETIMEDOUT;
		reader->stats.unread += item->error == -ETIMEDOUT;
		reader->refused += item->error == -EACCES || item->error == -EPERM;
		break;
	case ITEM_END:
		end_request(reader, item->error);
		break;
	}
}

static void
take_packet(struct proc_reader *reader, const uint8_t *packet, size_t size)
{
	struct proc_item item;

	for (size_t at = 0; size - at >= sizeof(item); at += item.size) {
		memcpy(&item, packet + at, sizeof(item));
		if (item.size <= sizeof(item) || item.size > size - at || packet[at + item.size - 1] != '\0')
			return;
		take_item(reader, &item, (const char *)packet + at + sizeof(item));
	}
}

/* One packet. False: there is none. */
static bool
take_next(struct proc_reader *reader)
{
	uint8_t packet[HELPER_PACKET_SIZE];
	const ssize_t got = helper_try(&reader->helper, packet, sizeof(packet));

	if (got > 0) {
		reader->heard_ns = monotonic_ns();
		take_packet(reader, packet, (size_t)got);
		return true;
	}
	if (got != -EAGAIN) {
		resume(reader, (int)got);
	} else if (monotonic_ns() - reader->heard_ns > PROC_READER_PATIENCE_NS) {
		helper_abandon(&reader->helper);
		record_silent(reader);
		reader->failures = 0; /* what did not answer is not asked again */
		resume(reader, -ETIMEDOUT);
	}
	return false;
}

void
proc_reader_take(struct proc_reader *reader, uint64_t budget_ns)
{
	const uint64_t until_ns = monotonic_ns() + budget_ns;

	retry_silent(reader);
	if (!reader->is_reading)
		return;
	while (reader->is_reading && take_next(reader) && monotonic_ns() < until_ns)
		start_next(reader);
	start_next(reader);
	if (!reader->is_reading)
		helper_dismiss(&reader->helper);
}

void
proc_reader_wait(struct proc_reader *reader, uint64_t until_ns)
{
	uint64_t now_ns;

	while (reader->is_reading && (now_ns = monotonic_ns()) < until_ns) {
		struct pollfd fd = {.fd = reader->helper.socket, .events = POLLIN};

		const uint64_t left_ns = until_ns - now_ns;

		(void)poll(&fd, 1, (int)((left_ns < LOOK_NS ? left_ns : LOOK_NS) / 1000000) + 1);
		proc_reader_take(reader, left_ns);
	}
}

bool
proc_reader_is_busy(const struct proc_reader *reader)
{
	return reader->is_reading;
}

bool
proc_reader_is_scanning(const struct proc_reader *reader)
{
	return reader->is_reading && reader->request.pid == 0;
}

void
proc_reader_stats(const struct proc_reader *reader, struct proc_reader_stats *stats)
{
	*stats = reader->stats;
}

uint64_t
proc_reader_cpu_ns(const struct proc_reader *reader)
{
	return helper_cpu_ns(&reader->helper);
}
