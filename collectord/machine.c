#include "collectord/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LARGE_BYTES      (128 << 10)        /* glibc's, which it would raise by itself */
#define CPUINFO_SIZE     16384              /* the first processor's part is what is looked for */
#define PID_NAMESPACE_IN "pid:[4026531836]" /* PROC_PID_INIT_INO: the machine's own */

/* The beginning of file `directory`/`name` in `text`, "" when it cannot be read. */
static void
read_beginning(const char *directory, const char *name, char *text, size_t size)
{
	char path[256];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = TEMP_FAILURE_RETRY(read(fd, text, size - 1));
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

/* The value of the first "key : value" line whose key is `key`; false when there is none. */
static bool
find_value(const char *cpuinfo, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length + strspn(line + length, " \t")] == ':') {
			const char *start = strchr(line, ':') + 1;

			start += strspn(start, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
			return true;
		}
	}
	return false;
}

static bool
has_flag(const char *cpuinfo, const char *flag)
{
	size_t length = strlen(flag);
	char *flags = malloc(CPUINFO_SIZE);
	bool found = false;

	if (flags && find_value(cpuinfo, "flags", flags, CPUINFO_SIZE))
		for (const char *at = flags; !found && *at; at += strcspn(at, " "), at += *at == ' ')
			found = strcspn(at, " ") == length && strncmp(at, flag, length) == 0;
	free(flags);
	return found;
}

/*
 * Add vendor, family and model of an x86: a hypervisor may shorten its name to "AMD EPYC", which does not
 * identify its pipeline. It may also give the numbers of another model; AMX shows Golden Cove or a later one.
 */
static void
append_family(const char *cpuinfo, char *name, size_t size)
{
	char vendor[16], family[8], model[8];
	size_t length = strlen(name);

	if (find_value(cpuinfo, "vendor_id", vendor, sizeof(vendor)) &&
	    find_value(cpuinfo, "cpu family", family, sizeof(family)) &&
	    find_value(cpuinfo, "model", model, sizeof(model)))
		snprintf(name + length, size - length, " (%s family %s model %s%s)", vendor, family, model,
		         has_flag(cpuinfo, "amx_tile") ? " with amx_tile" : "");
}

void
machine_cpu_model(const char *cpuinfo, char *model, size_t size)
{
	static const char *const keys[] = {"model name", "cpu model", "cpu", "uarch"}; /* x86, MIPS, POWER, RISC-V */
	char implementer[32], part[32];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (find_value(cpuinfo, keys[i], model, size) && *model) {
			append_family(cpuinfo, model, size);
			return;
		}
	}
	if (find_value(cpuinfo, "CPU implementer", implementer, sizeof(implementer)) &&
	    find_value(cpuinfo, "CPU part", part, sizeof(part)))
		snprintf(model, size, "ARM implementer %s, part %s", implementer, part);
	else
		*model = '\0';
}

void
machine_describe(const char *procfs, struct epoch *epoch)
{
	struct utsname name;
	char *cpuinfo = malloc(CPUINFO_SIZE);

	if (uname(&name) == 0) {
		snprintf(epoch->host, sizeof(epoch->host), "%s", name.nodename);
		snprintf(epoch->kernel, sizeof(epoch->kernel), "%s %s %s", name.release, name.version, name.machine);
	}
	if (cpuinfo) {
		read_beginning(procfs, "cpuinfo", cpuinfo, CPUINFO_SIZE);
		machine_cpu_model(cpuinfo, epoch->cpu, sizeof(epoch->cpu));
	}
	free(cpuinfo);
	if (!*epoch->cpu)
		read_beginning(procfs, "device-tree/model", epoch->cpu, sizeof(epoch->cpu));
}

bool
machine_is_pid_namespace(const char *procfs)
{
	char path[256], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/self/ns/pid", procfs);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return strcmp(target, PID_NAMESPACE_IN) != 0;
}

static void
raise_limit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_max == RLIM_INFINITY || (most != RLIM_INFINITY && limit.rlim_max > most))
		most = limit.rlim_max;
	/* more than the hard limit is for the privileged only; all of it is for everybody */
	if (setrlimit(resource, &(struct rlimit){.rlim_cur = most, .rlim_max = most}) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

void
machine_raise_limits(void)
{
	raise_limit(RLIMIT_NOFILE, 1 << 20); /* a descriptor per event and CPU; fs.nr_open, which is the ceiling */
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

void
machine_tune_allocator(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

void
machine_trim_heap(void)
{
	malloc_trim(0);
}

static uint64_t
time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

uint64_t
machine_cpu_time_ns(void)
{
	struct rusage usage, others;

	if (getrusage(RUSAGE_SELF, &usage) || getrusage(RUSAGE_CHILDREN, &others))
		return 0;
	return time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime) + time_ns(&others.ru_utime) +
	       time_ns(&others.ru_stime);
}

uint64_t
machine_busy_ns(const char *procfs)
{
	unsigned long long ticks[8] = {0}; /* user, nice, system, idle, iowait, irq, softirq, steal */
	uint64_t busy = 0;
	char text[256];

	read_beginning(procfs, "stat", text, sizeof(text));
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
	           &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 4)
		return 0;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		if (i != 3 && i != 4)
			busy += ticks[i];
	return busy * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void
machine_memory(struct machine_memory *memory)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long total, resident, shared;
	char text[128];

	*memory = (struct machine_memory){0};
	read_beginning("/proc/self", "statm", text, sizeof(text));
	if (sscanf(text, "%llu %llu %llu", &total, &resident, &shared) != 3 || shared > resident)
		return;
	memory->resident_bytes = resident * page;
	memory->own_bytes = (resident - shared) * page;
}

uint64_t
machine_clock_ns(int clock_id)
{
	struct timespec now;

	if (clock_gettime((clockid_t)clock_id, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
