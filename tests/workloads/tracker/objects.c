/*
 * objects.c - makes and ends memory objects in every way, and writes down which of them live
 *
 * objects MODE [NUMBER]. Between two mappings of known lengths it does what the mode says; then it prints its living
 * objects, one a line: address in hexadecimal, size, "heap" or "mapping". It prints by write(2) from static memory, so
 * that it makes no objects by itself.
 */
/* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c): handlers run by raise(), or map only */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE        4096
#define BEGIN_PAGES 1234 /* lengths of mappings that say when it begins and ends: show_objects.c */
#define END_PAGES   1235
#define CHAIN_SIZE  777777 /* its frames are printed, too */
#define STEADY_WORK 540    /* steps of a random number for each object */
#define LIVES_MAX   65536
#define KEPT_SIZE   100001
#define SMALL       300
#define LARGE       20000

struct living_object {
	void *address;
	size_t size;
	bool is_mapping;
};

static struct living_object lives[LIVES_MAX];
static unsigned life_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t seed = 1;
static const char *program;

static __attribute__((noreturn)) void
die(const char *what)
{
	dprintf(2, "objects: %s: %s\n", what, strerror(errno));
	_exit(9);
}

static uint32_t
random_below(uint32_t *state, uint32_t limit)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*state * limit >> 32);
}

static void
lives_add(void *address, size_t size, bool is_mapping)
{
	if (!address || address == MAP_FAILED)
		die("no object");
	pthread_mutex_lock(&lock);
	if (life_count == LIVES_MAX)
		die("too many objects");
	lives[life_count++] = (struct living_object){address, size, is_mapping};
	pthread_mutex_unlock(&lock);
}

/* Any of the heap's objects, which does not count as living any more; address NULL: there is none. */
static struct living_object
lives_take(uint32_t *state)
{
	struct living_object taken = {NULL, 0, false};

	pthread_mutex_lock(&lock);
	if (life_count) {
		const unsigned at = random_below(state, life_count);

		taken = lives[at];
		lives[at] = lives[--life_count];
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

static void
mark(unsigned pages)
{
	if (mmap(NULL, (size_t)pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		die("mmap");
}

static void
print_lives(void)
{
	char line[80];

	for (unsigned i = 0; i < life_count; i++) {
		const int length =
			snprintf(line, sizeof(line), "%llx %zu %s\n", (unsigned long long)(uintptr_t)lives[i].address,
		                 lives[i].size, lives[i].is_mapping ? "mapping" : "heap");

		if (write(1, line, (size_t)length) != length)
			die("write");
	}
}

/* ---- the heap ---- */

/* An object that its content proves to be ours alone. */
static void
fill(void *address, size_t size)
{
	memset(address, (int)((uintptr_t)address >> 4 & 0xff), size);
}

static void
check_filled(const void *address, size_t size)
{
	const unsigned char *bytes = address;

	for (size_t i = 0; i < size; i++)
		if (bytes[i] != ((uintptr_t)address >> 4 & 0xff)) {
			errno = 0;
			die("an object was overwritten");
		}
}

static void
make_one(uint32_t *state)
{
	const size_t size = random_below(state, 8) ? random_below(state, SMALL) : random_below(state, LARGE);
	void *address = NULL;

	switch (random_below(state, 8)) {
	case 0:
		address = malloc(size);
		break;
	case 1:
		address = calloc(size, 1);
		break;
	case 2:
		address = realloc(NULL, size);
		break;
	case 3:
		address = aligned_alloc(64, size);
		break;
	case 4:
		if (posix_memalign(&address, 128, size))
			die("posix_memalign");
		break;
	case 5:
		address = memalign(32, size);
		break;
	case 6:
		address = reallocarray(NULL, 1, size);
		break;
	default:
		address = valloc(size);
		break;
	}
	fill(address, size);
	lives_add(address, size, false);
}

static void
change_one(uint32_t *state)
{
	const struct living_object old = lives_take(state);
	const size_t size = 1 + random_below(state, random_below(state, 2) ? SMALL : LARGE);
	void *address;

	if (!old.address)
		return;
	check_filled(old.address, old.size);
	address = random_below(state, 2) ? realloc(old.address, size) : reallocarray(old.address, size, 1);
	fill(address, size);
	lives_add(address, size, false);
}

static void
end_one(uint32_t *state)
{
	const struct living_object old = lives_take(state);

	check_filled(old.address, old.size);
	free(old.address); /* NULL is allowed */
}

static void
use_heap(uint32_t *state, unsigned steps, unsigned keep)
{
	for (unsigned i = 0; i < steps; i++) {
		const unsigned choice = random_below(state, 10);

		if (choice < 3 || (choice < 5 && life_count < keep))
			make_one(state);
		else if (choice < 6)
			change_one(state);
		else
			end_one(state);
		if (choice == 9) { /* nobody else sees it */
			void *volatile brief = malloc(40);

			free(brief);
		}
	}
}

/* Where allocators disagree whose memory that is, nobody may free it. */
static void *volatile never_freed;

static volatile size_t everything = (size_t)-1 / 4;

static void
mode_functions(unsigned steps)
{
	void *small, *none = NULL;

	use_heap(&seed, steps, 500);
	errno = 0;
	if (malloc(everything) || errno != ENOMEM)
		die("malloc() of everything");
	if (calloc(everything, 16))
		die("calloc() of more than everything");
	small = malloc(11);
	lives_add(small, 11, false);
	if (realloc(small, everything))
		die("realloc() to everything");
	if (reallocarray(small, everything + 1, 4)) /* the product is 0 */
		die("reallocarray() to more than everything");
	if (posix_memalign(&none, 3, 10) != EINVAL)
		die("posix_memalign() to 3");
	free(malloc(100000)); /* now there is room: where the break cannot grow, malloc() leaves ENOMEM and goes
	                         elsewhere */
	errno = EDOM;
	free(malloc(100000));
	if (errno != EDOM)
		die("errno");
	lives_add(strcpy(malloc(6), "hello"), 6, false);
	lives_add(strdup("seven.."), 8, false); /* libc calls malloc() */
	never_freed = pvalloc(5);
	lives_add(never_freed, 5, false);
}

/* Two return addresses, which are those of two frames of the object's call chain. */
static __attribute__((noinline)) void *
make_in_chain(void **callers)
{
	void *made = malloc(CHAIN_SIZE);

	callers[0] = __builtin_return_address(0);
	return made;
}

static __attribute__((noinline)) void *
call_in_chain(void **callers)
{
	void *made = make_in_chain(callers);

	callers[1] = __builtin_return_address(0);
	return made;
}

static void
mode_chain(unsigned count)
{
	void *callers[2];

	for (unsigned i = 0; i < count; i++) {
		free(call_in_chain(callers));
		lives_add(call_in_chain(callers), CHAIN_SIZE, false);
		dprintf(1, "frames %lx %lx\n", (unsigned long)(uintptr_t)callers[0],
		        (unsigned long)(uintptr_t)callers[1]);
	}
}

/* ---- mappings ---- */

static char *
map_pages(unsigned pages)
{
	char *mapped = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		die("mmap");
	return mapped;
}

/* It lives to the end. */
static char *
map_shared(unsigned pages)
{
	char *mapped = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		die("mmap");
	lives_add(mapped, (size_t)pages * PAGE, true);
	return mapped;
}

static void
mode_mappings(unsigned unused)
{
	const int segment = shmget(IPC_PRIVATE, 3 * PAGE + 1, IPC_CREAT | 0600);
	char *area = map_pages(100), *moved, *attached, *before;

	(void)unused;
	/* holes in it: page 1, pages 10 to 19, and the end, of whose last page a byte is named */
	if (munmap(area + PAGE, PAGE) || munmap(area + 10 * PAGE, 10 * PAGE) || munmap(area + 98 * PAGE, PAGE + 1))
		die("munmap");
	lives_add(area, PAGE, true);
	lives_add(area + 2 * PAGE, 8 * PAGE, true);
	lives_add(area + 20 * PAGE, 78 * PAGE, true);
	if (munmap(area + 1, PAGE) == 0)
		die("munmap() at an odd address");
	/* one in the place of a part of another */
	if (mmap(area + 30 * PAGE, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		die("mmap");
	lives[life_count - 1].size = 10 * PAGE;
	lives_add(area + 30 * PAGE, 2 * PAGE, true);
	lives_add(area + 32 * PAGE, 66 * PAGE, true);
	moved = mremap(map_pages(5), 5 * PAGE, 3 * PAGE, 0);
	lives_add(moved, 3 * PAGE, true);
	moved = mremap(map_pages(5), 5 * PAGE, 500 * PAGE, MREMAP_MAYMOVE);
	lives_add(moved, 500 * PAGE, true);
	moved = map_pages(4);
	if (mremap(map_pages(4), 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) != moved)
		die("mremap");
	lives_add(moved, 4 * PAGE, true);
	moved = mremap(map_shared(6), 0, 2 * PAGE, MREMAP_MAYMOVE); /* another mapping of the same memory */
	lives_add(moved, 2 * PAGE, true);
	attached = shmat(segment, NULL, 0);
	lives_add(attached, 3 * PAGE + 1, true);
	attached = shmat(segment, NULL, 0);
	if (shmdt(attached) || shmdt(attached) == 0 || shmctl(segment, IPC_RMID, NULL))
		die("shmdt");
	before = sbrk(10 * PAGE);
	if (sbrk(-4 * PAGE) == (void *)-1 || brk(before + 5 * PAGE))
		die("brk");
	lives_add(before, 5 * PAGE, true);
}

/* ---- threads ---- */

static void *
run_busy(void *data)
{
	uint32_t state = (uint32_t)(uintptr_t)data;

	use_heap(&state, 20000, 1000);
	return NULL;
}

static void *
run_brief(void *data)
{
	uint32_t state = (uint32_t)(uintptr_t)data;

	make_one(&state);
	make_one(&state);
	end_one(&state);
	return NULL;
}

static pthread_key_t key;

/* What a thread has to the very end, and a destructor that comes back as often as it may. */
static void
end_own(void *data)
{
	uint32_t state = 5;

	free(data);
	for (unsigned i = 0; i < 3; i++)
		make_one(&state);
	end_one(&state);
	pthread_setspecific(key, malloc(KEPT_SIZE));
}

static void *
run_with_own(void *data)
{
	pthread_setspecific(key, malloc(KEPT_SIZE));
	return run_brief(data);
}

static void
run_threads(void *(*function)(void *), unsigned count, unsigned at_once, size_t stack)
{
	pthread_t threads[64];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (stack && pthread_attr_setstacksize(&attributes, stack))
		die("pthread_attr_setstacksize");
	for (unsigned i = 0; i < count; i += at_once) {
		for (unsigned k = 0; k < at_once; k++)
			if (pthread_create(&threads[k], &attributes, function, (void *)(uintptr_t)(i + k + 1)))
				die("pthread_create");
		for (unsigned k = 0; k < at_once; k++)
			pthread_join(threads[k], NULL);
	}
}

static void
mode_threads(unsigned count)
{
	run_threads(run_busy, 8, 8, 0);
	run_threads(run_brief, count, 20, 0);
	run_threads(run_brief, 40, 20, (size_t)sysconf(_SC_THREAD_STACK_MIN));
}

/* Each thread leaves the last object that the destructor made, which is not in the list. */
static void
mode_destructors(unsigned count)
{
	if (pthread_key_create(&key, end_own))
		die("pthread_key_create");
	run_threads(run_with_own, count, 20, 0);
}

/* ---- processes ---- */

static void
wait_for_child(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("child");
}

/* The child's own objects are those that it prints; what it inherits has no birth in its file. */
static void
mode_fork(unsigned raw)
{
	pid_t child;

	use_heap(&seed, 5000, 200);
	child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (child == 0) {
		mark(BEGIN_PAGES);
		life_count = 0;
		use_heap(&seed, 5000, 300);
		mark(END_PAGES);
		dprintf(1, "child %d\n", (int)syscall(SYS_getpid)); /* getpid() of an old libc might not know */
		print_lives();
		dprintf(1, "parent\n");
		_exit(0);
	}
	wait_for_child(child);
	use_heap(&seed, 5000, 200);
}

static void
mode_vfork(unsigned unused)
{
	(void)unused;
	for (unsigned i = 0; i < 20; i++) {
		pid_t child;

		use_heap(&seed, 300, 200);
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		wait_for_child(child);
	}
}

static void
mode_exec(unsigned left)
{
	char number[16];

	use_heap(&seed, 1000, 200);
	if (left) {
		snprintf(number, sizeof(number), "%u", left - 1);
		execl(program, program, "exec", number, NULL);
		die("execl");
	}
}

/* Until it is killed, it has this many objects, or one fewer. */
static void
mode_endless(unsigned count)
{
	for (unsigned i = 0;; i++) {
		struct living_object *life = &lives[i % count];

		free(life->address);
		life->address = malloc(5000);
		free(malloc(50));
		free(malloc(60));
		if (i == count && write(1, "full\n", 5) != 5)
			die("write");
	}
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

static void
allocate_in_handler(int number)
{
	uint32_t state = (uint32_t)number + (uint32_t)handled++;

	make_one(&state);
	make_one(&state);
	end_one(&state);
}

static void
map_in_handler(int number)
{
	const int error = errno;

	(void)number;
	handled++;
	munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	errno = error;
}

static void
mode_signals(unsigned count)
{
	const struct itimerval often = {{0, 500}, {0, 500}};

	signal(SIGUSR1, allocate_in_handler);
	signal(SIGALRM, map_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < count; i++) {
		use_heap(&seed, 200, 200);
		raise(SIGUSR1);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	if (!handled)
		die("no signal came");
}

/* ---- harm ---- */

/* Overwrites its own log, and goes on. */
static void
mode_garbage(unsigned rounds)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t begin = 0, end = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/objects."))
			sscanf(line, "%lx-%lx", &begin, &end);
	if (maps)
		fclose(maps);
	for (unsigned round = 0; round < rounds; round++) {
		use_heap(&seed, 1000, 300);
		for (unsigned i = 0; begin && i < 200; i++) { /* of any page, and of the first ones more often */
			const uint64_t size = random_below(&seed, 2) ? end - begin : 8 * PAGE;

			((uint32_t *)begin)[random_below(&seed, (uint32_t)(size / 4))] =
				random_below(&seed, 2) ? random_below(&seed, 256) : random_below(&seed, UINT32_MAX);
		}
	}
}

/* What a pair of malloc() and free() takes, and one whose object lives for a while; ns, on standard error. */
static void
mode_pairs(unsigned thousands)
{
	void *volatile objects[64];
	struct timespec begin, middle, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned i = 0; i < thousands * 1000; i++) {
		objects[0] = malloc(40);
		free(objects[0]);
	}
	clock_gettime(CLOCK_MONOTONIC, &middle);
	for (unsigned i = 0; i < thousands * 1000 / 64; i++) {
		for (unsigned k = 0; k < 64; k++)
			objects[k] = malloc(40 + k);
		for (unsigned k = 0; k < 64; k++)
			free(objects[k]);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	dprintf(2, "%.1f %.1f\n",
	        ((double)(middle.tv_sec - begin.tv_sec) * 1e9 + (double)(middle.tv_nsec - begin.tv_nsec)) / thousands /
	                1000,
	        ((double)(end.tv_sec - middle.tv_sec) * 1e9 + (double)(end.tv_nsec - middle.tv_nsec)) / thousands /
	                1000);
}

/* Objects that live for a thousand others, with work for each: some two millions a second. */
static void
mode_steady(unsigned thousands)
{
	static void *objects[1000];

	for (unsigned i = 0; i < thousands * 1000; i++) {
		free(objects[i % 1000]);
		objects[i % 1000] = malloc(16 + random_below(&seed, SMALL));
		for (unsigned k = 0; k < STEADY_WORK; k++)
			seed = seed * 1664525 + 1013904223;
	}
}

static const struct {
	const char *name;
	void (*function)(unsigned number);
} modes[] = {
	{"functions", mode_functions},
	{"chain", mode_chain},
	{"mappings", mode_mappings},
	{"threads", mode_threads},
	{"destructors", mode_destructors},
	{"fork", mode_fork},
	{"vfork", mode_vfork},
	{"exec", mode_exec},
	{"endless", mode_endless},
	{"signals", mode_signals},
	{"garbage", mode_garbage},
	{"pairs", mode_pairs},
	{"steady", mode_steady},
};

int
main(int argc, char **argv)
{
	program = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		mark(BEGIN_PAGES);
		modes[i].function(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
		mark(END_PAGES);
		print_lives();
		return 0;
	}
	dprintf(2, "usage: objects MODE [NUMBER]\n");
	return 2;
}
/* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */
