#include "tracker/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define SITES         65536u
#define CHUNKS        4096u /* 16 MiB */
#define CACHED        512u  /* call chains that a thread remembers by place */
#define CHECK_EACH    1024u /* of them that is unwound again */
#define SHORT_TICKS   30000 /* some 10 us: objects that live no longer are taken back, if they are small */
#define SHORT_BYTES   4096
#define NUMBERS_MAX   1000 /* programs that a process executes */
#define WAITS_MAX     200  /* for the reader to give a chunk back, */
#define WAIT_NS       100000
#define NS_PER_SECOND UINT64_C(1000000000)
#define SITE_TRIES    64
#define LOG_TLS       __attribute__((tls_model("initial-exec")))

/* A call chain that was unwound: by who called, and where its frame was. */
struct cached_site {
	const void *caller, *frame;
	uint32_t site, uses;
};

struct log_thread {
	struct object_log_chunk *chunk;
	uint32_t generation; /* of the file that the chunk is in */
	uint32_t tid;
	uint32_t slot; /* of the chunk */
	bool is_inside, has_asked;
	struct cached_site cached[CACHED];
};

static _Thread_local struct log_thread self LOG_TLS;

/* Set once for a process, by the first event; `generation` changes with a fork. */
static struct {
	struct object_log_header *file; /* NULL: there is none */
	uint32_t *states;               /* of chunks */
	struct object_log_site *sites;
	struct object_log_chunk *chunks;
	uint32_t generation;
	uint32_t opened; /* the generation for which it was tried to open a file */
	uint32_t lock;
	uint64_t waited_for;                       /* what the reader had freed when it was waited for in vain, + 1 */
	uint32_t clock;                            /* enum object_log_clock */
	const struct object_remedy_list *remedies; /* NULL: none */
	pthread_key_t at_exit;                     /* of a thread */
	uint32_t has_key;
} state = {.generation = 1};

/* ---- the clock ---- */

static uint64_t
monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Time on the machine that dcpiemu emulates; 0: the program runs on this one. */
static uint64_t
target_now(void)
{
	uint64_t time = 0;
	const int error = errno;

	syscall(OBJECT_LOG_TIME_CALL, &time);
	errno = error;
	return time;
}

#ifdef __x86_64__
/* The counter advances at one rate on all cores, also in deep sleep (Intel SDM 3B 18.17.1, AMD APM 3 E.4.7). */
static bool
has_counter(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
}

static inline uint64_t
counter_now(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static bool
has_counter(void)
{
	return true;
}

static inline uint64_t
counter_now(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}
#else
static bool
has_counter(void)
{
	return false;
}

static inline uint64_t
counter_now(void)
{
	return 0;
}
#endif

static enum object_log_clock
find_clock(void)
{
	if (target_now())
		return OBJECT_CLOCK_TARGET;
	return has_counter() ? OBJECT_CLOCK_COUNTER : OBJECT_CLOCK_MONOTONIC;
}

static uint64_t
clock_now(void)
{
	if (__builtin_expect(state.clock == OBJECT_CLOCK_COUNTER, 1))
		return counter_now();
	return state.clock == OBJECT_CLOCK_TARGET ? target_now() : monotonic_now();
}

/* ---- the file ---- */

/* The emulator that runs the program has its environment, and so this library: what it allocates is not the program's.
 */
static bool
is_emulator(void)
{
	char path[4096];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name;

	if (length <= 0)
		return false;
	path[length] = '\0';
	name = strrchr(path, '/');
	return name && strncmp(name + 1, "qemu-", 5) == 0;
}

static void *
map_file(const char *path, size_t bytes)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	long mapped;

	if (fd < 0)
		return NULL;
	if (syscall(SYS_ftruncate, fd, bytes)) {
		syscall(SYS_close, fd);
		return NULL;
	}
	/* the system call itself: mmap() is tracked */
	mapped = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	return mapped == -1 ? NULL : (void *)mapped;
}

/* Under the lock. */
static void
open_file(void)
{
	const char *directory = secure_getenv("DCPI_OBJECTS");
	const size_t bytes = object_log_chunks_at(CHUNKS, SITES) + sizeof(struct object_log_chunk) * CHUNKS;
	struct object_log_header *file = NULL;
	const uint32_t pid = (uint32_t)getpid();
	uint32_t number = 0;
	char path[4096];

	if (!directory || !*directory || is_emulator())
		return;
	for (; !file && number < NUMBERS_MAX; number++) {
		const int length =
			snprintf(path, sizeof(path), "%s/" OBJECT_LOG_PREFIX "%u.%u", directory, pid, number);

		if (length < 0 || (size_t)length >= sizeof(path))
			return;
		file = map_file(path, bytes);
		if (!file && errno != EEXIST)
			return;
	}
	if (!file)
		return;
	file->size = bytes;
	file->pid = pid;
	file->number = number - 1;
	file->site_max = SITES;
	file->chunk_count = CHUNKS;
	state.states = (uint32_t *)(void *)(file + 1);
	state.sites = (struct object_log_site *)(void *)((char *)file + object_log_sites_at(CHUNKS));
	state.chunks = (struct object_log_chunk *)(void *)((char *)file + object_log_chunks_at(CHUNKS, SITES));
	state.clock = find_clock();
	file->clock = state.clock;
	file->began = clock_now();
	file->began_ns = monotonic_now();
	__atomic_store_n(&file->magic, OBJECT_LOG_MAGIC, __ATOMIC_RELEASE);
	__atomic_store_n(&state.file, file, __ATOMIC_RELEASE);
}

/* ---- remedies, in the emulator ---- */

static void
find_remedies(void)
{
	const char *directory = secure_getenv("DCPI_OBJECTS");
	const struct object_remedy_list *list;
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/" OBJECT_REMEDY_FILE, directory) >= (int)sizeof(path))
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	list = (const void *)syscall(SYS_mmap, NULL, sizeof(*list), PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	if (list != MAP_FAILED && list->magic == OBJECT_REMEDY_MAGIC && list->site_count <= OBJECT_REMEDIES_MAX &&
	    list->range_count <= OBJECT_REMEDIES_MAX)
		state.remedies = list;
	for (uint32_t i = 0; state.remedies && i < list->range_count; i++)
		syscall(OBJECT_LOG_REMEDY_CALL, list->ranges[i].address, list->ranges[i].size, list->ranges[i].kind);
}

/* An object was made that may have a remedy. */
static void
set_remedy(const struct object_log_event *event)
{
	const uint64_t hash = event->site ? state.sites[event->site].hash : 0;
	const int error = errno;

	for (uint32_t i = 0; i < state.remedies->site_count; i++) {
		if (state.remedies->sites[i].hash == hash)
			syscall(OBJECT_LOG_REMEDY_CALL, event->address, event->size, state.remedies->sites[i].kind);
	}
	errno = error;
}

static void
end_remedy(uint64_t address)
{
	const int error = errno;

	syscall(OBJECT_LOG_REMEDY_CALL, address, 0, OBJECT_REMEDY_NONE);
	errno = error;
}

/* ---- the file of the process ---- */

static struct object_log_header *
file_of_process(void)
{
	const int error = errno;

	if (__builtin_expect(__atomic_load_n(&state.opened, __ATOMIC_ACQUIRE) == state.generation, 1))
		return state.file;
	if (__atomic_exchange_n(&state.lock, 1, __ATOMIC_ACQUIRE))
		return NULL; /* somebody is opening it: what happens meanwhile is not recorded */
	if (state.opened != state.generation) {
		open_file();
		if (state.clock == OBJECT_CLOCK_TARGET && state.generation == 1)
			find_remedies();
		if (state.remedies && state.remedies->pins)
			syscall(OBJECT_LOG_REMEDY_CALL, 0, 0, OBJECT_REMEDY_PIN);
		__atomic_store_n(&state.opened, state.generation, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&state.lock, 0, __ATOMIC_RELEASE);
	errno = error;
	return state.file;
}

/* Which clock it is, the file says: 0 without one. */
uint64_t
log_now(void)
{
	return file_of_process() ? clock_now() : 0;
}

void
log_begin_child(void)
{
	/* the parent's file stays mapped: what this thread still has of it must not fault */
	state.file = NULL;
	state.generation++;
	state.lock = 0;
	self.chunk = NULL;
	self.tid = 0;
	self.is_inside = false;
	memset(self.cached, 0, sizeof(self.cached)); /* sites are of the parent's file */
}

/* ---- chunks ---- */

static void
close_chunk(void *unused)
{
	(void)unused;
	if (self.chunk && self.generation == state.generation)
		__atomic_store_n(&state.states[self.slot], OBJECT_CHUNK_CLOSED, __ATOMIC_RELEASE);
	self.chunk = NULL;
}

void
log_end_thread(void)
{
	close_chunk(NULL);
}

/* Take a chunk that nobody has; the search begins somewhere else each time. CHUNKS: there is none. */
static uint32_t
take_slot(struct object_log_header *file)
{
	const uint32_t first = (uint32_t)__atomic_load_n(&file->taken, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < CHUNKS; i++) {
		const uint32_t slot = (first + i) % CHUNKS;
		uint32_t is_free = OBJECT_CHUNK_FREE;

		if (__atomic_load_n(&state.states[slot], __ATOMIC_RELAXED) == OBJECT_CHUNK_FREE &&
		    __atomic_compare_exchange_n(&state.states[slot], &is_free, OBJECT_CHUNK_TAKEN, false,
		                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return slot;
	}
	return CHUNKS;
}

/*
 * Wait until the reader has freed chunks, for a moment. Once it has not, nobody waits for it again before it does: a
 * program whose reader has gone goes on at its own speed.
 */
static uint32_t
wait_for_slot(struct object_log_header *file)
{
	const uint64_t freed = __atomic_load_n(&file->freed, __ATOMIC_ACQUIRE);
	uint32_t slot = CHUNKS;

	if (__atomic_load_n(&state.waited_for, __ATOMIC_RELAXED) == freed + 1)
		return CHUNKS;
	for (unsigned i = 0; i < WAITS_MAX && slot == CHUNKS; i++) {
		syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		slot = take_slot(file);
	}
	if (slot == CHUNKS)
		__atomic_store_n(&state.waited_for, freed + 1, __ATOMIC_RELAXED);
	return slot;
}

static struct object_log_chunk *
take_chunk(struct object_log_header *file)
{
	const int error = errno;
	struct object_log_chunk *chunk;
	uint32_t slot;

	close_chunk(NULL);
	slot = take_slot(file);
	if (slot == CHUNKS)
		slot = wait_for_slot(file);
	if (!self.tid)
		self.tid = (uint32_t)syscall(SYS_gettid);
	errno = error;
	if (slot == CHUNKS)
		return NULL;
	chunk = &state.chunks[slot];
	chunk->tid = self.tid;
	chunk->written = chunk->published = 0;
	chunk->changes = 0;
	chunk->number = __atomic_add_fetch(&file->taken, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&state.states[slot], OBJECT_CHUNK_OPEN, __ATOMIC_RELEASE);
	self.chunk = chunk;
	self.slot = slot;
	self.generation = state.generation;
	return chunk;
}

/* ---- call chains ---- */

struct unwinding {
	const void *caller; /* what is inside of it is the tracker's */
	bool is_outside;
	unsigned count;
	uint64_t frames[OBJECT_LOG_FRAMES];
};

static _Unwind_Reason_Code
take_frame(struct _Unwind_Context *context, void *data)
{
	struct unwinding *unwinding = data;
	const uint64_t address = _Unwind_GetIP(context);

	unwinding->is_outside |= address == (uint64_t)(uintptr_t)unwinding->caller;
	if (unwinding->is_outside)
		unwinding->frames[unwinding->count++] = address;
	return unwinding->count < OBJECT_LOG_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uint64_t
hash_of(const uint64_t *frames, unsigned count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < count; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
	return hash ? hash : 1;
}

/* The number of the chain, from 1 on; OBJECT_LOG_NO_SITE: the table has no room. */
static uint32_t
enter_site(struct object_log_header *file, const struct unwinding *unwinding)
{
	const uint64_t hash = hash_of(unwinding->frames, unwinding->count);

	for (uint32_t i = 0; i < SITE_TRIES; i++) {
		/* place 0 is no site's: its number says that there is none */
		const uint32_t at = (uint32_t)((hash >> 16) + i) % (SITES - 1) + 1;
		struct object_log_site *site = &state.sites[at];
		uint64_t there = __atomic_load_n(&site->hash, __ATOMIC_ACQUIRE);

		if (!there &&
		    __atomic_compare_exchange_n(&site->hash, &there, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			memcpy(site->frames, unwinding->frames, unwinding->count * sizeof(site->frames[0]));
			__atomic_store_n(&site->count, unwinding->count, __ATOMIC_RELEASE);
			return at;
		}
		if (there == hash)
			return at;
	}
	__atomic_fetch_add(&file->unnamed, 1, __ATOMIC_RELAXED);
	return OBJECT_LOG_NO_SITE;
}

static uint32_t
unwind_site(struct object_log_header *file, const void *caller)
{
	struct unwinding unwinding = {.caller = caller};

	_Unwind_Backtrace(take_frame, &unwinding);
	if (!unwinding.count) /* the function that called has no table: its caller is all that is known */
		unwinding.frames[unwinding.count++] = (uint64_t)(uintptr_t)caller;
	return enter_site(file, &unwinding);
}

/*
 * Who calls from one place, with a stack of the same depth, nearly always came there in the same way: unwinding takes a
 * microsecond, looking that up some nanoseconds. One of 1024 such chains is unwound again, and counted if it differs.
 */
static uint32_t
find_site(struct object_log_header *file, const void *caller, const void *frame)
{
	const uint64_t key =
		((uint64_t)(uintptr_t)caller ^ (uint64_t)(uintptr_t)frame << 7) * UINT64_C(0x9e3779b97f4a7c15);
	struct cached_site *cached = &self.cached[key >> 55];
	uint32_t before = OBJECT_LOG_NO_SITE;

	if (cached->caller == caller && cached->frame == frame) {
		if (++cached->uses % CHECK_EACH)
			return cached->site;
		before = cached->site;
	}
	*cached = (struct cached_site){caller, frame, unwind_site(file, caller), 0};
	if (before) {
		__atomic_fetch_add(&file->checked, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&file->wrong, before != cached->site, __ATOMIC_RELAXED);
	}
	return cached->site;
}

/* ---- events ---- */

bool
log_enter(void)
{
	if (self.is_inside)
		return false;
	self.is_inside = true;
	return true;
}

void
log_leave(void)
{
	self.is_inside = false;
}

static void
ask_for_end(void)
{
	uint32_t none = 0;

	self.has_asked = true;
	/* who comes first makes the key; the others have none, until they take their next chunk */
	if (__atomic_compare_exchange_n(&state.has_key, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		__atomic_store_n(&state.has_key, pthread_key_create(&state.at_exit, close_chunk) ? 3 : 2,
		                 __ATOMIC_RELEASE);
	if (__atomic_load_n(&state.has_key, __ATOMIC_ACQUIRE) == 2)
		pthread_setspecific(state.at_exit, &state);
	else
		self.has_asked = false;
}

static void
write_event(struct object_log_header *file, const struct object_log_event *event)
{
	struct object_log_chunk *chunk = self.chunk;

	if (!chunk || self.generation != state.generation || chunk->written == OBJECT_LOG_EVENTS) {
		chunk = take_chunk(file);
		if (!chunk) {
			__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
			return;
		}
		if (!self.has_asked)
			ask_for_end();
	}
	chunk->events[chunk->written] = *event;
	__atomic_store_n(&chunk->written, (uint16_t)(chunk->written + 1), __ATOMIC_RELEASE);
	if (event->size >= SHORT_BYTES || event->kind != OBJECT_BORN)
		__atomic_store_n(&chunk->published, chunk->written, __ATOMIC_RELEASE);
	else if (chunk->written > OBJECT_LOG_HELD + chunk->published)
		__atomic_store_n(&chunk->published, (uint16_t)(chunk->written - OBJECT_LOG_HELD), __ATOMIC_RELEASE);
}

static uint16_t
cpu_now(void)
{
	return state.clock == OBJECT_CLOCK_TARGET ? 0 : (uint16_t)sched_getcpu();
}

void
log_born(enum object_log_kind kind, const void *address, size_t size, const void *caller, const void *frame)
{
	struct object_log_header *file = file_of_process();
	struct object_log_event event;

	if (!file)
		return;
	event = (struct object_log_event){
		.time = clock_now(),
		.address = (uint64_t)(uintptr_t)address,
		.size = size,
		.site = find_site(file, caller, frame),
		.cpu = cpu_now(),
		.kind = (uint8_t)kind,
	};
	write_event(file, &event);
	if (__builtin_expect(state.remedies != NULL, 0))
		set_remedy(&event);
}

/* Whether the object is one of the last that this thread made, a moment ago: then its beginning is taken back. */
static bool
take_back(struct object_log_header *file, uint64_t address, uint64_t time)
{
	struct object_log_chunk *chunk = self.chunk;

	if (!chunk || self.generation != state.generation)
		return false;
	for (unsigned i = chunk->written; i-- > chunk->published;) {
		struct object_log_event *event = &chunk->events[i];

		if (event->address != address)
			continue;
		if (event->kind != OBJECT_BORN || time - event->time > SHORT_TICKS)
			return false;
		/* a reader that copies events meanwhile sees that `changes` is odd, or another */
		__atomic_store_n(&chunk->changes, chunk->changes + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		memmove(event, event + 1, (size_t)(chunk->written - i - 1) * sizeof(*event));
		__atomic_store_n(&chunk->written, (uint16_t)(chunk->written - 1), __ATOMIC_RELEASE);
		__atomic_store_n(&chunk->changes, chunk->changes + 1, __ATOMIC_RELEASE);
		__atomic_fetch_add(&file->short_lived, 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

void
log_died(const void *address, uint64_t time)
{
	struct object_log_header *file = file_of_process();

	if (file && __builtin_expect(state.remedies != NULL, 0))
		end_remedy((uint64_t)(uintptr_t)address);
	if (!file || take_back(file, (uint64_t)(uintptr_t)address, time))
		return;
	log_changed(OBJECT_DIED, address, 0, time);
}

void
log_changed(enum object_log_kind kind, const void *address, size_t size, uint64_t time)
{
	struct object_log_header *file = file_of_process();

	if (!file)
		return;
	write_event(file, &(struct object_log_event){
				  .time = time,
				  .address = (uint64_t)(uintptr_t)address,
				  .size = size,
				  .cpu = cpu_now(),
				  .kind = (uint8_t)kind,
			  });
}
