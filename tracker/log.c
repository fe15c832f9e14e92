#include "tracker/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/mapped_room.h"

#define SITES          65536u
#define CHUNKS         4096u /* 16 MiB */
#define CHUNKS_FILLING (CHUNKS / 4 * 3)
#define KNOWN_SITES    32768u
#define KNOWN_FRAMES   32768u
#define CHAINS         2048u
#define WALK_BITS      10 /* for the words of a frame that is known */
#define WALK_WORDS     ((1u << WALK_BITS) - 2)
#define WALK_MASK      ((1u << WALK_BITS) - 1)
#define WALK_VARIES    0         /* the frame has not the same size each time */
#define WALK_ENDS      WALK_MASK /* there is no further frame */
#define CHECK_EACH     1024u     /* call chain that is known and is unwound again */
#define SHORT_NS       10000     /* objects that live no longer are taken back, if they are small */
#define SHORT_COUNTS   0x8000u   /* of a counter whose rate is not known: TSCs and targets have 1 to 5 GHz */
#define SHORT_BYTES    4096
#define COUNT_EACH     64   /* short-lived objects of a thread, to be added to the file's */
#define NUMBERS_MAX    1000 /* programs that a process executes */
#define WAITS_MAX      200  /* for the reader to give a chunk back, */
#define WAIT_NS        100000
#define NS_PER_SECOND  UINT64_C(1000000000)
#define SITE_TRIES     64
#define PAGE           4096u
#define AT_ONCE        16u /* chunks that get room on the disk together */
#define HASH_FACTOR    UINT64_C(0x9e3779b97f4a7c15)
#define FIRST_SIZE     (sizeof(struct object_log_header))
#define SITES_SIZE     (sizeof(struct object_log_site) * SITES)
#define CHUNKS_SIZE    (sizeof(struct object_log_chunk) * CHUNKS)
#define FILE_SIZE      (FIRST_SIZE + SITES_SIZE + CHUNKS_SIZE)
#define LOG_TLS        __attribute__((tls_model("initial-exec")))

_Static_assert(sizeof(struct object_log_chunk) == PAGE, "a chunk is a page");

/* What the chunk says of `written`, `published` and `changes` is not read: the program might have overwritten it. */
struct log_thread {
	struct object_log_chunk *chunk;
	uint64_t last_time; /* of an event */
	uint32_t tid;       /* 0: not known yet */
	uint32_t lookups;   /* of call chains that were known */
	uint32_t short_lived, changes;
	uint16_t written, published;
	uintptr_t stack, stack_end; /* of the thread; 0: not known */
	uint8_t endings;            /* how often our destructor has run in the thread */
	bool is_inside, awaits_end;
};

static _Thread_local struct log_thread self LOG_TLS;

/*
 * Of a process. It moves to a page that the kernel clears in the child of a fork: so the child, however it was made,
 * has no file, and nobody holds the lock there.
 */
struct log_state {
	struct object_log_header *file; /* NULL: there is none */
	uint32_t is_off;                /* and there will be none */
	uint32_t lock;
	uint64_t waited_for;   /* what the reader had given back when it was waited for in vain, + 1 */
	bool reserves_by_file; /* room on the disk, not by address */
	uint64_t site_pages[SITES_SIZE / PAGE / 64],
		chunk_groups[CHUNKS / AT_ONCE / 64]; /* bits: those that have room */
};

_Static_assert(sizeof(struct log_state) <= PAGE, "the state is one page");

static struct log_state first_state;
static struct log_state *state = &first_state;
static struct object_log_header *mapped; /* the file, in a child the parent's until it has its own */
static uint32_t generation;              /* counts the files that were made */
static char directory[4096];             /* for files; a child may have another environment */
static char file_path[sizeof(directory) + 64];
static uint32_t made_pid, made_number;            /* in the file's name, in a child the parent's until it has its own */
static uint64_t forked;                           /* the process, or the parent of such a child; 0: not known */
static uint64_t forks;                            /* when the process forked last */
static const struct object_remedy_list *remedies; /* in the emulator; NULL: none */
static enum object_log_clock clock_used;
static uint64_t short_time; /* in `clock_used` */
static pthread_key_t thread_end;
static bool has_thread_end;
static bool keeps;             /* a thread of the process reads the file, too: the keeper */
static uint32_t keeper_sleeps; /* 1, until somebody wakes it */

/*
 * Call chains by their return addresses: the upper 48 bits are a hash of these and of the file's generation, the lower
 * 16 the site. A word each, so threads share them without a lock.
 */
static uint64_t known_sites[KNOWN_SITES];

/*
 * Frames that were unwound, by their return addresses, of whose lower bits the upper 44 are; then 10 bits: how many
 * words before the frame's end the next return address is, or one of the values below; 10 bits: how many words the
 * frame has.
 */
static uint64_t known_frames[KNOWN_FRAMES];

/*
 * A cache of call chains, by the place of their innermost frame: where their return addresses are, and which. If the
 * same are still there, so is the chain. They are read at once, where walk() must know each frame before it finds the
 * next. Each entry has a sequence lock: a thread that replaces it makes `version` odd meanwhile, and one that reads it
 * follows the chain if that is odd, or has changed.
 */
struct chain {
	uint32_t version, generation;
	uint32_t site;
	uint16_t count;
	uint16_t places[OBJECT_LOG_FRAMES]; /* in words, from `frame` on; the first has none */
	uintptr_t frame;
	uint64_t frames[OBJECT_LOG_FRAMES];
};

static struct chain chains[CHAINS];

/* ---- the clock ---- */

#if defined(__x86_64__)
/* Whether the time stamp counter runs at one rate, and never stops (AMD64 Architecture Programmer's Manual 3, E.4.9).
 */
static bool
has_even_counter(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}
#elif defined(__aarch64__)
static bool
has_even_counter(void)
{
	return true;
}
#else
static bool
has_even_counter(void)
{
	return false;
}
#endif

static void
choose_clock(void)
{
	uint64_t time = UINT64_MAX;

	syscall(OBJECT_LOG_TIME_CALL, &time);
	short_time = SHORT_COUNTS;
	if (time != UINT64_MAX) {
		clock_used = OBJECT_CLOCK_TARGET;
	} else if (has_even_counter()) {
		clock_used = OBJECT_CLOCK_COUNTER;
#if defined(__aarch64__)
		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(time));
		short_time = time / (NS_PER_SECOND / SHORT_NS);
#endif
	} else {
		clock_used = OBJECT_CLOCK_MONOTONIC;
		short_time = SHORT_NS;
	}
}

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) uint64_t
slow_now(void)
{
	const int error = errno;
	uint64_t time = 0;

	if (clock_used == OBJECT_CLOCK_TARGET)
		syscall(OBJECT_LOG_TIME_CALL, &time);
	else
		time = monotonic_ns();
	errno = error;
	return time;
}

uint64_t
log_now(void)
{
	return __builtin_expect(clock_used == OBJECT_CLOCK_COUNTER, 1) ? object_log_counter() : slow_now();
}

/* When an object was made: after another thread has ended the one that had its address. */
static inline uint64_t
time_of_birth(void)
{
	return __builtin_expect(clock_used == OBJECT_CLOCK_COUNTER, 1) ? object_log_counter_after() : slow_now();
}

/* ---- the file ---- */

/* Give a part of the file room on the disk. False: there is none. */
static bool
reserve(const void *address, size_t bytes)
{
	return mapped_room(&state->reserves_by_file, address, bytes, file_path,
	                   (uint64_t)((const char *)address - (const char *)mapped));
}

/* Map the file at `file_path`, which is made. False: errno. */
static bool
map_file(void)
{
	const int fd =
		(int)syscall(SYS_openat, AT_FDCWD, file_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	long address = -1;

	if (fd < 0)
		return false;
	/* the system call itself: mmap() is tracked */
	if (syscall(SYS_ftruncate, fd, FILE_SIZE) == 0)
		address = syscall(SYS_mmap, NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (address != -1) {
		mapped = (void *)address;
		/* a huge page would be cleared for the first event of a short program: 4 ms */
		syscall(SYS_madvise, address, FILE_SIZE, MADV_NOHUGEPAGE);
		state->reserves_by_file = clock_used == OBJECT_CLOCK_TARGET;
		if (reserve(mapped, FIRST_SIZE))
			return true;
		syscall(SYS_munmap, address, FILE_SIZE);
		mapped = NULL;
	}
	syscall(SYS_unlinkat, AT_FDCWD, file_path, 0);
	errno = ENOSPC;
	return false;
}

/* A page for the state, which a child does not inherit. Without one a child learns it by pthread_atfork() alone. */
static void
move_state(void)
{
	const long page = syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == -1)
		return;
	if (syscall(SYS_madvise, page, PAGE, MADV_WIPEONFORK)) {
		syscall(SYS_munmap, page, PAGE);
		return;
	}
	memcpy((void *)page, state, sizeof(*state));
	__atomic_store_n(&state, (struct log_state *)page, __ATOMIC_RELEASE);
}

/*
 * The emulator that runs the program has its environment, and so this library: what it allocates is not the program's.
 */
static bool
is_emulator(void)
{
	const ssize_t length = readlink("/proc/self/exe", file_path, sizeof(file_path) - 1);
	const char *name;

	if (length <= 0)
		return false;
	file_path[length] = '\0';
	name = strrchr(file_path, '/');
	return name && strncmp(name + 1, "qemu-", 5) == 0;
}

static void
find_remedies(void)
{
	const struct object_remedy_list *list;
	long address;
	int fd;

	snprintf(file_path, sizeof(file_path), "%s/" OBJECT_REMEDY_FILE, directory);
	fd = (int)syscall(SYS_openat, AT_FDCWD, file_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	address = syscall(SYS_mmap, NULL, sizeof(*list), PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	list = (const void *)address;
	if (address == -1 || list->magic != OBJECT_REMEDY_MAGIC || list->site_count > OBJECT_REMEDIES_MAX ||
	    list->range_count > OBJECT_REMEDIES_MAX)
		return;
	remedies = list;
	for (uint32_t i = 0; i < list->range_count; i++)
		syscall(OBJECT_LOG_REMEDY_CALL, list->ranges[i].address, list->ranges[i].size, list->ranges[i].kind);
}

/* Once. False: nothing is to be recorded. */
static bool
find_directory(void)
{
	const char *named = secure_getenv(OBJECT_LOG_DIRECTORY), *reader;

	if (!named || !*named || strlen(named) >= sizeof(directory) || is_emulator())
		return false;
	memcpy(directory, named, strlen(named) + 1);
	choose_clock();
	if (clock_used == OBJECT_CLOCK_TARGET)
		find_remedies();
	reader = secure_getenv(OBJECT_LOG_READ);
	keeps = clock_used != OBJECT_CLOCK_TARGET && !(reader && *reader);
	return true;
}

/* Under the lock. NULL: there is none. */
static struct object_log_header *
make_file(void)
{
	const uint32_t pid = (uint32_t)getpid();
	struct object_log_header *file;
	uint32_t number = 0;

	mapped = NULL;
	for (; number < NUMBERS_MAX; number++) {
		snprintf(file_path, sizeof(file_path), "%s/" OBJECT_LOG_PREFIX "%u.%u", directory, pid, number);
		if (map_file() || errno != EEXIST)
			break;
	}
	file = mapped;
	if (!file)
		return NULL;
	file->size = FILE_SIZE;
	file->began_ns = monotonic_ns();
	file->began = log_now();
	file->parent_pid = made_pid;
	file->parent_number = made_number;
	file->forked = forked ? forked : file->began;
	forked = 0;
	made_pid = file->pid = pid;
	made_number = file->number = number;
	file->site_max = SITES;
	file->chunk_count = CHUNKS;
	file->clock = clock_used;
	file->has_keeper = keeps;
	__atomic_store_n(&file->magic, OBJECT_LOG_MAGIC, __ATOMIC_RELEASE);
	return file;
}

/* Whether there is a file after all. While another thread makes it, nothing is recorded. */
static __attribute__((noinline)) bool
open_file(void)
{
	struct log_state *const now = state;
	const int error = errno;

	if (__atomic_load_n(&now->is_off, __ATOMIC_ACQUIRE) || !environ || /* before the C library has begun */
	    __atomic_exchange_n(&now->lock, 1, __ATOMIC_ACQUIRE))
		return false;
	if (state == now && !now->file && !now->is_off) {
		struct object_log_header *file = NULL;

		if (mapped) /* the parent's: this is a child, where nobody uses it yet */
			syscall(SYS_munmap, mapped, FILE_SIZE);
		self.chunk = NULL;
		self.tid = 0;
		if (*directory || find_directory())
			file = make_file();
		if (file && state == &first_state)
			move_state();
		if (file && remedies && remedies->pins)
			syscall(OBJECT_LOG_REMEDY_CALL, 0, 0, OBJECT_REMEDY_PIN);
		generation++;
		state->is_off = !file;
		__atomic_store_n(&state->file, file, __ATOMIC_RELEASE);
		__atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&now->lock, 0, __ATOMIC_RELEASE);
	errno = error;
	return state->file != NULL;
}

/* After fork(), where the kernel does not clear the state: an emulator, or Linux before 4.14. */
static void
begin_child(void)
{
	memset(state, 0, sizeof(*state));
	if (!forked && made_pid)
		forked = forks;
}

/* Before a fork, not in the child, which may run later than what its parent does next. */
static void
prepare_fork(void)
{
	forks = made_pid ? log_now() : 0;
}

/* Whether a part of the file has room on the disk, or gets it now. `bits` says which have. */
static bool
make_room(uint64_t *bits, size_t part, void *address, size_t bytes)
{
	const uint64_t bit = UINT64_C(1) << part % 64;

	if (__atomic_load_n(&bits[part / 64], __ATOMIC_ACQUIRE) & bit)
		return true;
	if (!reserve(address, bytes))
		return false;
	__atomic_fetch_or(&bits[part / 64], bit, __ATOMIC_RELEASE);
	return true;
}

static struct object_log_site *
sites_of(struct object_log_header *file)
{
	return (struct object_log_site *)(void *)((char *)file + FIRST_SIZE);
}

static struct object_log_chunk *
chunks_of(struct object_log_header *file)
{
	return (struct object_log_chunk *)(void *)((char *)file + FIRST_SIZE + SITES_SIZE);
}

/* ---- chunks ---- */

static void
close_chunk(void)
{
	if (self.chunk)
		__atomic_store_n(&self.chunk->is_closed, 1, __ATOMIC_RELEASE);
	self.chunk = NULL;
}

static void
count_short_lived(struct object_log_header *file)
{
	if (self.short_lived)
		__atomic_fetch_add(&file->short_lived, self.short_lived, __ATOMIC_RELAXED);
	self.short_lived = 0;
}

/*
 * A destructor of thread-specific data. Others may make objects after it, and libc after all of them: so it has itself
 * called as often as destructors are.
 */
static void
end_thread(void *data)
{
	self.is_inside = true;
	if (state->file) { /* else this is a child that has no file yet: the chunk is its parent's */
		count_short_lived(state->file);
		close_chunk();
	}
	if (++self.endings < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(thread_end, data);
	self.is_inside = false;
}

static void
ask_for_end(void)
{
	self.awaits_end = has_thread_end && pthread_setspecific(thread_end, &first_state) == 0;
}

bool
log_is_filling(void)
{
	const struct object_log_header *file = __atomic_load_n(&state->file, __ATOMIC_ACQUIRE);

	return file &&
	       __atomic_load_n(&file->taken, __ATOMIC_RELAXED) - __atomic_load_n(&file->given_back, __ATOMIC_ACQUIRE) >=
	               CHUNKS_FILLING;
}

/*
 * The keeper sets `keeper_sleeps` before it looks at the chunks; a thread takes a chunk before it looks at
 * `keeper_sleeps`. So one of them sees what the other did, and the keeper does not sleep while the file is filling.
 */
static void
wake_keeper(void)
{
	if (keeps && log_is_filling() && __atomic_load_n(&keeper_sleeps, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&keeper_sleeps, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &keeper_sleeps, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void
log_wait_until_filling(void)
{
	for (;;) {
		__atomic_store_n(&keeper_sleeps, 1, __ATOMIC_SEQ_CST);
		if (log_is_filling())
			break;
		syscall(SYS_futex, &keeper_sleeps, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	}
	__atomic_store_n(&keeper_sleeps, 0, __ATOMIC_SEQ_CST);
}

/*
 * Whether a chunk is free, perhaps after the reader has given some back. Once it has not, nobody waits for it again
 * before it does.
 */
static bool
wait_for_room(const struct object_log_header *file)
{
	const uint64_t given_back = __atomic_load_n(&file->given_back, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&state->waited_for, __ATOMIC_RELAXED) == given_back + 1)
		return false;
	for (unsigned i = 0; i < WAITS_MAX; i++) {
		const uint64_t taken = __atomic_load_n(&file->taken, __ATOMIC_RELAXED);

		if (taken - __atomic_load_n(&file->given_back, __ATOMIC_ACQUIRE) < CHUNKS)
			return true;
		wake_keeper();
		syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	}
	__atomic_store_n(&state->waited_for, given_back + 1, __ATOMIC_RELAXED);
	return false;
}

/* A free chunk, with this number from now on. NULL: there is none, against what the header says, or the disk is full.
 */
static struct object_log_chunk *
claim_chunk(struct object_log_header *file, uint64_t number)
{
	for (uint32_t i = 0; i < 2 * CHUNKS; i++) {
		const uint32_t at = (uint32_t)((number - 1 + i) % CHUNKS), group = at / AT_ONCE;
		struct object_log_chunk *chunk = &chunks_of(file)[at];
		uint64_t free_number = 0;

		if (!make_room(state->chunk_groups, group, &chunks_of(file)[(size_t)group * AT_ONCE],
		               (size_t)AT_ONCE * PAGE))
			return NULL;
		if (__atomic_compare_exchange_n(&chunk->number, &free_number, number, false, __ATOMIC_ACQ_REL,
		                                __ATOMIC_RELAXED))
			return chunk;
	}
	return NULL;
}

static __attribute__((noinline)) struct object_log_chunk *
take_chunk(struct object_log_header *file)
{
	const int error = errno;
	uint64_t taken = __atomic_load_n(&file->taken, __ATOMIC_RELAXED);

	count_short_lived(file);
	close_chunk();
	for (;;) {
		if (taken - __atomic_load_n(&file->given_back, __ATOMIC_ACQUIRE) < CHUNKS) {
			if (__atomic_compare_exchange_n(&file->taken, &taken, taken + 1, true, __ATOMIC_ACQ_REL,
			                                __ATOMIC_RELAXED)) {
				self.chunk = claim_chunk(file, taken + 1);
				wake_keeper();
				break;
			}
		} else if (wait_for_room(file)) {
			taken = __atomic_load_n(&file->taken, __ATOMIC_RELAXED);
		} else {
			break;
		}
	}
	if (self.chunk) {
		if (!self.tid)
			self.tid = (uint32_t)syscall(SYS_gettid);
		self.written = self.published = 0;
		self.changes = 0;
		self.chunk->tid = self.tid;
		if (!self.awaits_end)
			ask_for_end();
	}
	errno = error;
	return self.chunk;
}

/* ---- call chains ---- */

struct unwinding {
	const void *caller; /* what is inside of it is the tracker's */
	bool is_outside;
	unsigned count;
	uint64_t frames[OBJECT_LOG_FRAMES];
	uintptr_t stack[OBJECT_LOG_FRAMES]; /* stack pointers of these, when what they called has returned; or, by
	                                       walk(), where these were read */
};

static _Unwind_Reason_Code
take_frame(struct _Unwind_Context *context, void *data)
{
	struct unwinding *unwinding = data;
	const uint64_t address = _Unwind_GetIP(context);

	unwinding->is_outside |= address == (uint64_t)(uintptr_t)unwinding->caller;
	if (unwinding->is_outside && address) {
		unwinding->stack[unwinding->count] = _Unwind_GetCFA(context);
		unwinding->frames[unwinding->count++] = address;
	}
	return unwinding->count < OBJECT_LOG_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uint64_t *
known_frame(uint64_t address)
{
	return &known_frames[(address ^ address >> 13) & (KNOWN_FRAMES - 1)];
}

/* How large the frames are, and where in them the return addresses. */
static void
learn_frames(const struct unwinding *unwinding)
{
	for (unsigned i = 0; i < unwinding->count; i++) {
		uint64_t *known = known_frame(unwinding->frames[i]), found = __atomic_load_n(known, __ATOMIC_RELAXED);
		uint64_t words = 0, back = WALK_VARIES, frame = unwinding->frames[i] << 2 * WALK_BITS;

		if (i + 1 < unwinding->count) {
			const uintptr_t begin = unwinding->stack[i], end = unwinding->stack[i + 1];

			if (end > begin && end - begin <= WALK_WORDS * sizeof(uint64_t))
				words = (end - begin) / sizeof(uint64_t);
			for (back = words; back > 0; back--)
				if (((const uint64_t *)end)[-(ptrdiff_t)back] == unwinding->frames[i + 1])
					break;
		} else if (unwinding->count < OBJECT_LOG_FRAMES) {
			back = WALK_ENDS;
		} else {
			break;
		}
		if (found >> 2 * WALK_BITS != frame >> 2 * WALK_BITS || found == (frame | back << WALK_BITS | words))
			frame |= back << WALK_BITS | words;
		__atomic_store_n(known, frame, __ATOMIC_RELAXED);
	}
}

/* Where the stack that has `stack` ends, as far as it is known. */
static inline uintptr_t
stack_end(uintptr_t stack)
{
	return stack >= self.stack && stack < self.stack_end ? self.stack_end : stack | (PAGE - 1);
}

/*
 * The call chain behind `caller`, whose frame begins at `stack`, as far as the frames are known: false if there may be
 * more of it. It reads nothing beyond the thread's stack: a frame may not have the size that is known, if other code is
 * there now.
 */
static inline bool
walk(struct unwinding *unwinding, const void *caller, uintptr_t stack)
{
	uint64_t address = (uint64_t)(uintptr_t)caller;
	const uintptr_t end = stack_end(stack);
	uintptr_t place = stack;
	unsigned count = 0;

	unwinding->caller = caller;
	unwinding->is_outside = false;
	for (;;) {
		const uint64_t known = __atomic_load_n(known_frame(address), __ATOMIC_RELAXED),
			       back = known >> WALK_BITS & WALK_MASK;

		unwinding->stack[count] = place;
		unwinding->frames[count++] = address;
		unwinding->count = count;
		if (count == OBJECT_LOG_FRAMES)
			return true;
		stack += (known & WALK_MASK) * sizeof(uint64_t);
		if ((known ^ address << 2 * WALK_BITS) >> 2 * WALK_BITS || back == WALK_VARIES || stack > end)
			return false;
		if (back == WALK_ENDS)
			return true;
		place = stack - back * sizeof(uint64_t);
		address = *(const uint64_t *)place;
	}
}

static uint64_t
hash_of(const uint64_t *frames, unsigned count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < count; i++)
		hash = (hash ^ frames[i]) * HASH_FACTOR ^ hash >> 29;
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
		struct object_log_site *site = &sites_of(file)[at];
		const size_t page = at * sizeof(*site) / PAGE;
		uint64_t there;

		if (!make_room(state->site_pages, page, (char *)sites_of(file) + page * PAGE, PAGE))
			break;
		there = __atomic_load_n(&site->hash, __ATOMIC_ACQUIRE);
		if (!there &&
		    __atomic_compare_exchange_n(&site->hash, &there, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			memcpy(site->frames, unwinding->frames, unwinding->count * sizeof(site->frames[0]));
			__atomic_store_n(&site->count, unwinding->count, __ATOMIC_RELEASE);
			return at;
		}
		if (there == hash)
			return at;
	}
	return OBJECT_LOG_NO_SITE;
}

/* `unwinding` has what is known of the chain, and gets all of it. */
static __attribute__((noinline)) uint32_t
unwind_site(struct object_log_header *file, struct unwinding *unwinding)
{
	const int error = errno;
	uint32_t site;

	unwinding->count = 0;
	_Unwind_Backtrace(take_frame, unwinding);
	learn_frames(unwinding);
	if (!unwinding->count) /* the function that called has no table: its caller is all that is known */
		unwinding->frames[unwinding->count++] = (uint64_t)(uintptr_t)unwinding->caller;
	site = enter_site(file, unwinding);
	errno = error;
	return site;
}

static inline struct chain *
chain_at(const void *caller, uintptr_t frame)
{
	return &chains[((uintptr_t)caller ^ frame >> 3) * HASH_FACTOR >> 32 & (CHAINS - 1)];
}

/* Whether it is the chain that is there now: then *site is its site. */
static inline bool
chain_hit(const struct chain *chain, const void *caller, uintptr_t frame, uint32_t *site)
{
	const uint32_t version = __atomic_load_n(&chain->version, __ATOMIC_ACQUIRE);
	const unsigned count = __atomic_load_n(&chain->count, __ATOMIC_RELAXED);
	const size_t room = (stack_end(frame) - frame) / sizeof(uint64_t); /* in words */
	uint64_t differs = 0;

	if (version & 1 || chain->frame != frame || chain->frames[0] != (uint64_t)(uintptr_t)caller ||
	    chain->generation != generation || count - 1 >= OBJECT_LOG_FRAMES)
		return false;
	for (unsigned i = 1; i < count; i++) {
		const uint16_t place = __atomic_load_n(&chain->places[i], __ATOMIC_RELAXED);

		/* nothing beyond the stack is read, even if another thread replaces the entry now */
		differs |= chain->frames[i] ^ ((const uint64_t *)frame)[place < room ? place : 0];
	}
	*site = chain->site;
	atomic_thread_fence(memory_order_acquire);
	return !differs && __atomic_load_n(&chain->version, __ATOMIC_RELAXED) == version;
}

/* `unwinding` is by walk(). */
static void
chain_store(struct chain *chain, uintptr_t frame, const struct unwinding *unwinding, uint32_t site)
{
	uint32_t version = __atomic_load_n(&chain->version, __ATOMIC_RELAXED) & ~1U;

	if (!__atomic_compare_exchange_n(&chain->version, &version, version + 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return;
	atomic_thread_fence(memory_order_release);
	chain->generation = generation;
	chain->site = site;
	chain->count = (uint16_t)unwinding->count;
	chain->frame = frame;
	for (unsigned i = 0; i < unwinding->count; i++) {
		chain->places[i] = (uint16_t)((unwinding->stack[i] - frame) / sizeof(uint64_t));
		chain->frames[i] = unwinding->frames[i];
	}
	__atomic_store_n(&chain->version, version + 2, __ATOMIC_RELEASE);
}

/*
 * Unwinding takes a microsecond. So the chain is followed by what is known of the frames from unwinding them before.
 * Behind a frame whose size varies it is taken for what it was with a stack of the same depth: such calls nearly always
 * came there in the same way. One of 1024 chains is unwound again, and counted if it differs.
 */
static __attribute__((noinline)) uint32_t
look_up_site(struct object_log_header *file, const void *caller, uintptr_t frame, struct chain *chain)
{
	struct unwinding unwinding;
	const bool is_whole = walk(&unwinding, caller, frame);
	uint64_t key =
		hash_of(unwinding.frames, unwinding.count) + (is_whole ? generation : generation + frame) * HASH_FACTOR;
	uint64_t *known, found;
	uint32_t site;
	bool is_known;

	key = (key ^ key >> 32) * HASH_FACTOR;
	known = &known_sites[key >> 20 & (KNOWN_SITES - 1)];
	found = __atomic_load_n(known, __ATOMIC_RELAXED);
	is_known = !((found ^ key) >> 16);
	if (__builtin_expect(is_known && self.lookups % CHECK_EACH, 1)) {
		site = found & 0xffff;
	} else {
		if (is_whole && !is_known) {
			site = enter_site(file, &unwinding);
		} else {
			site = unwind_site(file, &unwinding);
			walk(&unwinding, caller, frame);
		}
		__atomic_store_n(known, (key & ~UINT64_C(0xffff)) | site, __ATOMIC_RELAXED);
		if (is_known) {
			__atomic_fetch_add(&file->checked, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&file->wrong, (found & 0xffff) != site, __ATOMIC_RELAXED);
		}
	}
	chain_store(chain, frame, &unwinding, site);
	return site;
}

static inline uint32_t
find_site(struct object_log_header *file, const void *caller, const void *frame)
{
	struct chain *chain = chain_at(caller, (uintptr_t)frame);
	uint32_t site;

	if (__builtin_expect(++self.lookups % CHECK_EACH == 0 || !chain_hit(chain, caller, (uintptr_t)frame, &site), 0))
		site = look_up_site(file, caller, (uintptr_t)frame, chain);
	if (__builtin_expect(site == OBJECT_LOG_NO_SITE, 0))
		__atomic_fetch_add(&file->unnamed, 1, __ATOMIC_RELAXED);
	return site;
}

/* ---- events ---- */

bool
log_enter(void)
{
	if (self.is_inside)
		return false;
	self.is_inside = true;
	if (__builtin_expect(__atomic_load_n(&state->file, __ATOMIC_ACQUIRE) != NULL, 1) || open_file())
		return true;
	self.is_inside = false;
	return false;
}

void
log_leave(void)
{
	self.is_inside = false;
}

static void
write_event(struct object_log_header *file, struct object_log_event *event)
{
	struct object_log_chunk *chunk = self.chunk;

	if (__builtin_expect(!chunk || self.written == OBJECT_LOG_EVENTS, 0)) {
		chunk = take_chunk(file);
		if (!chunk) {
			__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	if (__builtin_expect(event->time <= self.last_time,
	                     0)) /* a slow counter; or the thread came from another core */
		event->time = self.last_time + 1;
	self.last_time = event->time;
	chunk->events[self.written++] = *event;
	__atomic_store_n(&chunk->written, self.written, __ATOMIC_RELEASE);
	if (self.written > OBJECT_LOG_HELD + self.published) {
		self.published = (uint16_t)(self.written - OBJECT_LOG_HELD);
		__atomic_store_n(&chunk->published, self.published, __ATOMIC_RELEASE);
	}
	if (__builtin_expect(self.endings >= PTHREAD_DESTRUCTOR_ITERATIONS, 0))
		close_chunk(); /* nothing will say when the thread has ended */
}

/* An object was made that may have a remedy. */
static __attribute__((noinline)) void
set_remedy(struct object_log_header *file, const struct object_log_event *event)
{
	const uint64_t hash = event->site ? sites_of(file)[event->site].hash : 0;
	const int error = errno;

	for (uint32_t i = 0; i < remedies->site_count; i++) {
		if (remedies->sites[i].hash == hash)
			syscall(OBJECT_LOG_REMEDY_CALL, event->address, event->size, remedies->sites[i].kind);
	}
	errno = error;
}

static __attribute__((noinline)) void
end_remedy(const void *address, size_t size)
{
	const int error = errno;

	syscall(OBJECT_LOG_REMEDY_CALL, address, size, OBJECT_REMEDY_NONE);
	errno = error;
}

void
log_born(enum object_log_kind kind, const void *address, size_t size, const void *caller, const void *frame)
{
	struct object_log_header *file = state->file;
	const uint64_t time = time_of_birth();
	const uint32_t site = find_site(file, caller, frame);
	struct object_log_event event = {
		.time = time,
		.address = (uint64_t)(uintptr_t)address,
		.size = size,
		.site = site,
		.cpu = clock_used == OBJECT_CLOCK_TARGET ? 0 : (uint16_t)sched_getcpu(),
		.kind = (uint8_t)kind,
	};

	write_event(file, &event);
	if (__builtin_expect(remedies != NULL, 0))
		set_remedy(file, &event);
}

/* Whether the object is one of the last that this thread made, a moment ago: then its beginning is taken back. */
static bool
take_back(uint64_t address, uint64_t time)
{
	struct object_log_chunk *chunk = self.chunk;

	if (!chunk)
		return false;
	for (uint16_t i = self.written; i-- > self.published;) {
		struct object_log_event *event = &chunk->events[i];

		if (time - event->time > short_time)
			return false;
		if (event->address != address)
			continue;
		if (event->kind != OBJECT_BORN || event->size >= SHORT_BYTES)
			return false;
		/* a reader that sees any of what follows sees `changes` changed, too: now, or after it has copied */
		__atomic_store_n(&chunk->changes, ++self.changes, __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_release);
		self.written--;
		if (i < self.written)
			memmove(event, event + 1, (size_t)(self.written - i) * sizeof(*event));
		__atomic_store_n(&chunk->written, self.written, __ATOMIC_RELEASE);
		__atomic_store_n(&chunk->changes, ++self.changes, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

void
log_died(const void *address, uint64_t time)
{
	if (__builtin_expect(remedies != NULL, 0))
		end_remedy(address, 0);
	if (!take_back((uint64_t)(uintptr_t)address, time))
		log_changed(OBJECT_DIED, address, 0, time);
	else if (++self.short_lived == COUNT_EACH)
		count_short_lived(state->file);
}

void
log_changed(enum object_log_kind kind, const void *address, size_t size, uint64_t time)
{
	write_event(state->file, &(struct object_log_event){
					 .time = time,
					 .address = (uint64_t)(uintptr_t)address,
					 .size = size,
					 .kind = (uint8_t)kind,
				 });
}

void
log_unmapping(const void *address, size_t size)
{
	if (__builtin_expect(remedies != NULL, 0))
		end_remedy(address, size);
}

void
log_set_stack(const void *stack, size_t size)
{
	self.stack = (uintptr_t)stack;
	self.stack_end = self.stack + size;
}

/* ---- for the keeper ---- */

bool
log_keeps(void)
{
	return keeps;
}

void
log_keep_not(void)
{
	keeps = false;
	if (state->file)
		__atomic_store_n(&state->file->has_keeper, 0, __ATOMIC_RELEASE);
}

void
log_ignore_thread(void)
{
	self.is_inside = true;
}

struct object_log_header *
log_file(uint64_t *size)
{
	*size = FILE_SIZE;
	return state->file;
}

bool
log_has_room(uint32_t chunk)
{
	const uint32_t group = chunk / AT_ONCE;

	return __atomic_load_n(&state->chunk_groups[group / 64], __ATOMIC_ACQUIRE) >> group % 64 & 1;
}

int
log_open_beside(const char *prefix, int flags)
{
	char path[sizeof(file_path)];

	snprintf(path, sizeof(path), "%s/%s%u.%u", directory, prefix, made_pid, made_number);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void
log_begin_process(void)
{
	pthread_atfork(prepare_fork, NULL, begin_child);
	has_thread_end = pthread_key_create(&thread_end, end_thread) == 0;
}
