/*
 * functions.c - the functions that make and end memory objects, in front of those of the C library or another allocator
 *
 * The dynamic linker finds these first, because the library is preloaded. Each calls the next function of its name,
 * which may call others of these: only the outermost is recorded. An end has the time before it happens, because
 * another thread may get the address at once; a beginning has the time after it.
 *
 * A program that has functions of these names itself calls those, and only they call ours, if at all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include "tracker/keeper.h"
#include "tracker/log.h"
#include "tracker/pages.h"

#define EARLY_BYTES           16384 /* what is allocated while the functions are looked for: dlsym() does */
#define THREAD_LOCAL_MAX      (1 << 24)
#define FIRST_STACK_MAX       (UINT64_C(1) << 26)
#define FIRST_STACK_ALIGNMENT 4096
#define CALLER                __builtin_return_address(0)
#define FRAME                 __builtin_dwarf_cfa() /* the caller's stack pointer, when it has been returned to */
#define PUBLIC                __attribute__((visibility("default"), noinline))

/* The next functions of these names. Each is looked for when it is needed. */
static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *old, size_t size);
	void *(*reallocarray)(void *old, size_t count, size_t size);
	void (*free)(void *address);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **address, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	void *(*mmap)(void *address, size_t length, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *address, size_t length);
	void *(*mremap)(void *old, size_t old_length, size_t length, int flags, ...);
	void *(*shmat)(int id, const void *address, int flags);
	int (*shmdt)(const void *address);
	int (*brk)(void *address);
	void *(*sbrk)(intptr_t more);
	int (*pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data);
} next;

static union {
	char bytes[EARLY_BYTES];
	max_align_t alignment;
} early;
static size_t early_used;
static _Thread_local bool looks_up __attribute__((tls_model("initial-exec")));

#define FIND(name) (__builtin_expect(next.name != NULL, 1) || find(#name, &next.name, sizeof(next.name)))

/* A pointer to a function is what dlsym() returns, whatever ISO C says of the two. False: there is none. */
static __attribute__((noinline)) bool
find(const char *name, void *function, size_t size)
{
	void *found;

	if (looks_up)
		return false;
	looks_up = true;
	found = dlsym(RTLD_NEXT, name);
	looks_up = false;
	if (found) /* else what another thread has found stays */
		memcpy(function, &found, size);
	return found != NULL;
}

/* Zeroed, and never given back. NULL and ENOMEM. */
static void *
early_allocate(size_t size)
{
	const size_t bytes = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	const size_t at = __atomic_fetch_add(&early_used, bytes, __ATOMIC_RELAXED);

	if (bytes < size || at > EARLY_BYTES || bytes > EARLY_BYTES - at) {
		errno = ENOMEM;
		return NULL;
	}
	return early.bytes + at;
}

static bool
is_early(const void *address)
{
	const char *at = address;

	return at >= early.bytes && at < early.bytes + EARLY_BYTES;
}

/* ---- the heap ---- */

/* Also when an operator of C++ throws. */
static inline void
leave(const bool *is_outermost)
{
	if (*is_outermost)
		log_leave();
}
#define ENTER __attribute__((cleanup(leave))) = log_enter()

/* After `made`, an expression, was evaluated: record it as an object of `size` that the caller of this function made.
 */
#define MAKE(made, size)                                                                                               \
	do {                                                                                                           \
		const bool is_outermost ENTER;                                                                         \
		void *const address = (made);                                                                          \
                                                                                                                       \
		if (is_outermost && address)                                                                           \
			log_born(OBJECT_BORN, address, size, CALLER, FRAME);                                           \
		return address;                                                                                        \
	} while (0)

PUBLIC void *
malloc(size_t size)
{
	MAKE(FIND(malloc) ? next.malloc(size) : early_allocate(size), size);
}

PUBLIC void *
calloc(size_t count, size_t size)
{
	MAKE(FIND(calloc) ? next.calloc(count, size) : early_allocate(count * size), count * size);
}

static void *
no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

PUBLIC void *
memalign(size_t alignment, size_t size)
{
	MAKE(FIND(memalign) ? next.memalign(alignment, size) : no_memory(), size);
}

PUBLIC void *
aligned_alloc(size_t alignment, size_t size)
{
	MAKE(FIND(aligned_alloc) ? next.aligned_alloc(alignment, size) : no_memory(), size);
}

PUBLIC void *
valloc(size_t size)
{
	MAKE(FIND(valloc) ? next.valloc(size) : no_memory(), size);
}

PUBLIC void *
pvalloc(size_t size)
{
	MAKE(FIND(pvalloc) ? next.pvalloc(size) : no_memory(), size);
}

PUBLIC int
posix_memalign(void **address, size_t alignment, size_t size)
{
	const bool is_outermost ENTER;
	const int error = FIND(posix_memalign) ? next.posix_memalign(address, alignment, size) : ENOMEM;

	if (is_outermost && !error && *address)
		log_born(OBJECT_BORN, *address, size, CALLER, FRAME);
	return error;
}

PUBLIC void
free(void *address)
{
	bool is_outermost;

	if (!address || is_early(address))
		return;
	is_outermost = log_enter();
	if (is_outermost)
		log_died(address, log_now());
	if (FIND(free))
		next.free(address);
	if (is_outermost)
		log_leave();
}

/* What realloc() did to `old`, which had begun to move at `time`: it is somewhere else, or has another size. */
static void
record_move(const void *old, const void *address, size_t size, uint64_t time, const void *caller, const void *frame)
{
	if (address && address == old) {
		log_changed(OBJECT_RESIZED, address, size, time);
		return;
	}
	if (old && (address || size == 0))
		log_died(old, time);
	if (address)
		log_born(OBJECT_BORN, address, size, caller, frame);
}

/* `old` is of early_allocate(), and its size is not known: as much as it may have is copied. */
static void *
move_early(const void *old, size_t size)
{
	const size_t left = (size_t)(early.bytes + EARLY_BYTES - (const char *)old);
	void *address = next.malloc ? next.malloc(size) : early_allocate(size);

	if (address)
		memmove(address, old, size < left ? size : left); /* that may reach into the new place */
	return address;
}

PUBLIC void *
realloc(void *old, size_t size)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	void *address;

	if (old && is_early(old))
		address = move_early(old, size);
	else
		address = FIND(realloc) ? next.realloc(old, size) : early_allocate(size);
	if (is_outermost)
		record_move(old, address, size, time, CALLER, FRAME);
	return address;
}

PUBLIC void *
reallocarray(void *old, size_t count, size_t size)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	void *address = FIND(reallocarray) ? next.reallocarray(old, count, size) : no_memory();
	size_t bytes;

	if (is_outermost && !__builtin_mul_overflow(count, size, &bytes))
		record_move(old, address, bytes, time, CALLER, FRAME);
	return address;
}

/* ---- C++: an allocator may have operators of its own that call none of the above ---- */

/*
 * The operator that `caller`'s library would have called without us. Where C++ came by dlopen() with RTLD_LOCAL, it is
 * nowhere behind us in the order of libraries, but in one that the caller's needs. That stays loaded from now on.
 * False: there is none.
 */
static __attribute__((noinline)) bool
find_operator(const char *name, void *function, const void *ours, const void *caller)
{
	void *library = NULL, *found = NULL, *kept;
	Dl_info at;

	if (looks_up)
		return false;
	if (find(name, function, sizeof(found)))
		return true;
	looks_up = true;
	if (dladdr(caller, &at) && at.dli_fname)
		library = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		found = dlsym(library, name);
		if (found == ours || !found || !dladdr(found, &at))
			found = NULL;
		kept = found ? dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
		if (kept)
			dlclose(kept);
		else
			found = NULL;
		dlclose(library);
	}
	looks_up = false;
	if (found)
		memcpy(function, &found, sizeof(found));
	return found != NULL;
}

/* Where there is no operator. Nothing could be thrown then, either. */
static void *
allocate_aligned(size_t alignment, size_t size)
{
	return FIND(memalign) ? next.memalign(alignment, size ? size : 1) : no_memory();
}

static void *
allocate_aligned_or_abort(size_t alignment, size_t size)
{
	void *address = allocate_aligned(alignment, size);

	if (!address)
		abort();
	return address;
}

static void
release(void *address)
{
	if (FIND(free))
		next.free(address);
}

#define NEW(name, parameters, arguments, otherwise)                                                                    \
	void *name parameters;                                                                                         \
	PUBLIC void *name parameters                                                                                   \
	{                                                                                                              \
		static void *(*function)parameters;                                                                    \
                                                                                                                       \
		MAKE(function || find_operator(#name, &function, (const void *)name, CALLER) ? function arguments      \
		                                                                             : otherwise,              \
		     size);                                                                                            \
	}

#define DELETE(name, parameters, arguments)                                                                            \
	void name parameters;                                                                                          \
	PUBLIC void name parameters                                                                                    \
	{                                                                                                              \
		static void(*function) parameters;                                                                     \
		const bool is_outermost = address && log_enter();                                                      \
                                                                                                                       \
		if (is_outermost)                                                                                      \
			log_died(address, log_now());                                                                  \
		if (function || find_operator(#name, &function, (const void *)name, CALLER))                           \
			function arguments;                                                                            \
		else                                                                                                   \
			release(address);                                                                              \
		if (is_outermost)                                                                                      \
			log_leave();                                                                                   \
	}

NEW(_Znwm, (size_t size), (size), allocate_aligned_or_abort(sizeof(max_align_t), size))
NEW(_Znam, (size_t size), (size), allocate_aligned_or_abort(sizeof(max_align_t), size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow),
    allocate_aligned(sizeof(max_align_t), size))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow),
    allocate_aligned(sizeof(max_align_t), size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment),
    allocate_aligned_or_abort(alignment, size))
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment),
    allocate_aligned_or_abort(alignment, size))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *nothrow),
    (size, alignment, nothrow), allocate_aligned(alignment, size))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *nothrow),
    (size, alignment, nothrow), allocate_aligned(alignment, size))
DELETE(_ZdlPv, (void *address), (address))
DELETE(_ZdaPv, (void *address), (address))
DELETE(_ZdlPvm, (void *address, size_t size), (address, size))
DELETE(_ZdaPvm, (void *address, size_t size), (address, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *address, const void *nothrow), (address, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *address, const void *nothrow), (address, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *address, size_t size, size_t alignment), (address, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *address, size_t size, size_t alignment), (address, size, alignment))

/* ---- mappings ---- */

/* What the kernel unmaps for a length: whole pages. */
static size_t
whole_pages(size_t length)
{
	const size_t page = (size_t)getpagesize();

	return (length + page - 1) / page * page;
}

static void *
map(void *address, size_t length, int protection, int flags, int fd, off_t offset, const void *caller,
    const void *frame)
{
	const bool is_outermost ENTER;
	void *mapped = MAP_FAILED;

	if (FIND(mmap))
		mapped = next.mmap(address, length, protection, flags, fd, offset);
	else
		errno = ENOMEM;
	if (is_outermost && mapped != MAP_FAILED)
		log_born(OBJECT_MAPPED, mapped, length, caller, frame);
	return mapped;
}

PUBLIC void *
mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	return map(address, length, protection, flags, fd, offset, CALLER, FRAME);
}

PUBLIC void *
mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	return map(address, length, protection, flags, fd, offset, CALLER, FRAME);
}

PUBLIC int
munmap(void *address, size_t length)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	int result;

	if (is_outermost)
		log_unmapping(address, whole_pages(length));
	result = FIND(munmap) ? next.munmap(address, length) : -1;

	if (is_outermost && result == 0)
		log_changed(OBJECT_UNMAPPED, address, whole_pages(length), time);
	return result;
}

PUBLIC void *
mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	void *wanted = NULL, *mapped = MAP_FAILED;
	va_list arguments;

	va_start(arguments, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		wanted = va_arg(arguments, void *);
	va_end(arguments);
	if (is_outermost && !(flags & MREMAP_DONTUNMAP) && old_length)
		log_unmapping(old, whole_pages(old_length));
	if (FIND(mremap))
		mapped = next.mremap(old, old_length, length, flags, wanted);
	if (is_outermost && mapped != MAP_FAILED) {
		if (!(flags & MREMAP_DONTUNMAP) && old_length) /* of 0: of shared memory, which stays there, too */
			log_changed(OBJECT_UNMAPPED, old, whole_pages(old_length), time);
		log_born(OBJECT_MAPPED, mapped, length, CALLER, FRAME);
	}
	return mapped;
}

PUBLIC void *
shmat(int id, const void *address, int flags)
{
	const bool is_outermost ENTER;
	void *mapped = FIND(shmat) ? next.shmat(id, address, flags) : MAP_FAILED;
	const int error = errno;
	struct shmid_ds segment;

	if (is_outermost && mapped != MAP_FAILED && shmctl(id, IPC_STAT, &segment) == 0)
		log_born(OBJECT_MAPPED, mapped, segment.shm_segsz, CALLER, FRAME);
	errno = error;
	return mapped;
}

PUBLIC int
shmdt(const void *address)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	int result;

	if (is_outermost)
		log_unmapping(address, 0);
	result = FIND(shmdt) ? next.shmdt(address) : -1;

	if (is_outermost && result == 0)
		log_changed(OBJECT_UNMAPPED, address, 0, time);
	return result;
}

/* The program's break went from `before` to `after`; the call began at `time`. */
static void
record_break(char *before, char *after, uint64_t time, const void *caller, const void *frame)
{
	if (after > before) {
		log_born(OBJECT_MAPPED, before, (size_t)(after - before), caller, frame);
	} else if (after < before) {
		log_unmapping(after, (size_t)(before - after));
		log_changed(OBJECT_UNMAPPED, after, (size_t)(before - after), time);
	}
}

PUBLIC void *
sbrk(intptr_t more)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	char *before = FIND(sbrk) ? next.sbrk(more) : (void *)-1;

	if (is_outermost && before != (void *)-1)
		record_break(before, before + more, time, CALLER, FRAME);
	return before;
}

PUBLIC int
brk(void *address)
{
	const bool is_outermost ENTER;
	const uint64_t time = is_outermost ? log_now() : 0;
	char *before = is_outermost && FIND(sbrk) ? next.sbrk(0) : NULL;
	const int result = FIND(brk) ? next.brk(address) : -1;

	if (is_outermost && before && result == 0)
		record_break(before, address, time, CALLER, FRAME);
	return result;
}

/* ---- threads ---- */

struct start {
	void *(*function)(void *);
	void *data;
};

/* Where the calling thread's stack is, and behind it what the thread has by itself: up to its descriptor. */
static void
record_stack(void)
{
	pthread_attr_t attributes;
	size_t size = 0;
	void *stack = NULL;
	char *end, *own = __builtin_thread_pointer();
	uint64_t now;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (pthread_attr_getstack(&attributes, &stack, &size))
		size = 0;
	pthread_attr_destroy(&attributes);
	if (!size)
		return;
	end = (char *)stack + size;
	now = log_now();
	log_set_stack(stack, size);
	log_changed(OBJECT_STACK, stack, size, now);
	if (own > end && own - end < THREAD_LOCAL_MAX)
		log_changed(OBJECT_THREAD_LOCAL, end, (size_t)(own - end), now);
}

/*
 * The kernel lays what it tells a program above its stack: the name of the program's file is the last of it. The size
 * is that to which the stack may grow. (pthread_getattr_np() would read /proc/self/maps, and use the heap for it.)
 */
static void
record_first_stack(void)
{
	const uintptr_t name = getauxval(AT_EXECFN);
	const uintptr_t end = (name + FIRST_STACK_ALIGNMENT - 1) & ~(uintptr_t)(FIRST_STACK_ALIGNMENT - 1);
	struct rlimit limit;

	if (!name || getrlimit(RLIMIT_STACK, &limit))
		return;
	if (limit.rlim_cur > FIRST_STACK_MAX)
		limit.rlim_cur = FIRST_STACK_MAX;
	if (limit.rlim_cur && limit.rlim_cur < end) {
		log_set_stack((void *)(end - limit.rlim_cur), limit.rlim_cur);
		log_changed(OBJECT_STACK, (void *)(end - limit.rlim_cur), limit.rlim_cur, log_now());
	}
}

static void *
start_thread(void *data)
{
	const struct start start = *(struct start *)data;

	if (log_enter()) {
		record_stack();
		next.free(data);
		log_leave();
	} else {
		next.free(data);
	}
	return start.function(start.data);
}

PUBLIC int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *data)
{
	const bool is_outermost ENTER;
	struct start *start;
	int error;

	if (!FIND(pthread_create) || !FIND(free) || !FIND(malloc))
		return EAGAIN;
	if (!is_outermost) /* another library's function of this name has called, for a thread of its own */
		return next.pthread_create(thread, attributes, function, data);
	start = next.malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (struct start){function, data};
	error = next.pthread_create(thread, attributes, start_thread, start);
	if (error)
		next.free(start);
	return error;
}

/* All functions are looked for now: later a lock may be held, or a signal be handled, when one is first called. */
static __attribute__((constructor)) void
begin(void)
{
	const int error = errno;

	(void)(FIND(malloc) && FIND(calloc) && FIND(realloc) && FIND(reallocarray) && FIND(free) && FIND(memalign));
	(void)(FIND(aligned_alloc) && FIND(posix_memalign) && FIND(valloc) && FIND(mmap) && FIND(munmap) &&
	       FIND(mremap));
	(void)(FIND(shmat) && FIND(shmdt) && FIND(brk) && FIND(sbrk) && FIND(pthread_create));
	log_begin_process();
	if (log_enter()) {
		record_first_stack();
		log_leave();
		pages_begin(next.pthread_create);
		if (log_keeps())
			keeper_begin(next.pthread_create);
	}
	errno = error;
}
