/*
 * functions.c - the functions that make and end memory objects, in front of those of the C library or another allocator
 *
 * The dynamic linker finds these first, because the library is preloaded. Each calls the next function of its name,
 * which may call others of these: only the outermost is recorded. An end is recorded before it happens, because another
 * thread may get the address at once; a beginning after it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "tracker/log.h"

#define EARLY_BYTES   16384 /* what is allocated while the functions are looked for: dlsym() does */
#define TLS_BYTES_MAX (1 << 20)
#define CALLER        __builtin_return_address(0)
#define FRAME         __builtin_frame_address(0)
#define PUBLIC        __attribute__((visibility("default"), noinline))

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

/* After `made`, an expression, was evaluated: record it as an object of `size` that the caller of this function made.
 */
#define MAKE(made, size)                                                                                               \
	do {                                                                                                           \
		const bool is_outermost = log_enter();                                                                 \
		void *const address = (made);                                                                          \
                                                                                                                       \
		if (is_outermost) {                                                                                    \
			if (address)                                                                                   \
				log_born(OBJECT_BORN, address, size, CALLER, FRAME);                                   \
			log_leave();                                                                                   \
		}                                                                                                      \
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
	const bool is_outermost = log_enter();
	const int error = FIND(posix_memalign) ? next.posix_memalign(address, alignment, size) : ENOMEM;

	if (is_outermost) {
		if (!error && *address)
			log_born(OBJECT_BORN, *address, size, CALLER, FRAME);
		log_leave();
	}
	return error;
}

PUBLIC void
free(void *address)
{
	const int error = errno;
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
	errno = error;
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

/* An object of before the functions were found is copied: as much as there may be of it. */
static void *
move_early(const void *old, size_t size)
{
	const size_t left = (size_t)(early.bytes + EARLY_BYTES - (const char *)old);
	void *address = next.malloc ? next.malloc(size) : early_allocate(size);

	if (address)
		memcpy(address, old, size < left ? size : left);
	return address;
}

PUBLIC void *
realloc(void *old, size_t size)
{
	const bool is_outermost = log_enter();
	const uint64_t time = is_outermost ? log_now() : 0;
	void *address;

	if (old && is_early(old))
		address = move_early(old, size);
	else
		address = FIND(realloc) ? next.realloc(old, size) : early_allocate(size);
	if (is_outermost) {
		record_move(old, address, size, time, CALLER, FRAME);
		log_leave();
	}
	return address;
}

PUBLIC void *
reallocarray(void *old, size_t count, size_t size)
{
	const bool is_outermost = log_enter();
	const uint64_t time = is_outermost ? log_now() : 0;
	void *address = FIND(reallocarray) ? next.reallocarray(old, count, size) : no_memory();

	if (is_outermost) {
		record_move(old, address, count * size, time, CALLER, FRAME);
		log_leave();
	}
	return address;
}

/* ---- C++: an allocator may have operators of its own that call none of the above ---- */

#define NEW(name, parameters, arguments)                                                                               \
	void *name parameters;                                                                                         \
	PUBLIC void *name parameters                                                                                   \
	{                                                                                                              \
		static void *(*function)parameters;                                                                    \
                                                                                                                       \
		MAKE(function || find(#name, &function, sizeof(function)) ? function arguments : no_memory(), size);   \
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
		if (function || find(#name, &function, sizeof(function)))                                              \
			function arguments;                                                                            \
		if (is_outermost)                                                                                      \
			log_leave();                                                                                   \
	}

NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *nothrow),
    (size, alignment, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *nothrow),
    (size, alignment, nothrow))
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

static void *
map(void *address, size_t length, int protection, int flags, int fd, off_t offset, const void *caller,
    const void *frame)
{
	const bool is_outermost = log_enter();
	void *mapped = MAP_FAILED;

	if (FIND(mmap))
		mapped = next.mmap(address, length, protection, flags, fd, offset);
	else
		errno = ENOMEM;
	if (is_outermost) {
		if (mapped != MAP_FAILED)
			log_born(OBJECT_MAPPED, mapped, length, caller, frame);
		log_leave();
	}
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
	const bool is_outermost = log_enter();
	int result = -1;

	if (is_outermost)
		log_changed(OBJECT_UNMAPPED, address, length, log_now());
	if (FIND(munmap))
		result = next.munmap(address, length);
	if (is_outermost)
		log_leave();
	return result;
}

PUBLIC void *
mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	const bool is_outermost = log_enter();
	const uint64_t time = is_outermost ? log_now() : 0;
	void *wanted = NULL, *mapped = MAP_FAILED;
	va_list arguments;

	va_start(arguments, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		wanted = va_arg(arguments, void *);
	va_end(arguments);
	if (FIND(mremap))
		mapped = next.mremap(old, old_length, length, flags, wanted);
	if (is_outermost) {
		if (mapped != MAP_FAILED && !(flags & MREMAP_DONTUNMAP))
			log_changed(OBJECT_UNMAPPED, old, old_length, time);
		if (mapped != MAP_FAILED)
			log_born(OBJECT_MAPPED, mapped, length, CALLER, FRAME);
		log_leave();
	}
	return mapped;
}

PUBLIC void *
shmat(int id, const void *address, int flags)
{
	const bool is_outermost = log_enter();
	void *mapped = FIND(shmat) ? next.shmat(id, address, flags) : MAP_FAILED;
	struct shmid_ds segment;

	if (is_outermost) {
		if (mapped != MAP_FAILED && shmctl(id, IPC_STAT, &segment) == 0)
			log_born(OBJECT_MAPPED, mapped, segment.shm_segsz, CALLER, FRAME);
		log_leave();
	}
	return mapped;
}

PUBLIC int
shmdt(const void *address)
{
	const bool is_outermost = log_enter();
	int result = -1;

	if (is_outermost)
		log_changed(OBJECT_UNMAPPED, address, 0, log_now());
	if (FIND(shmdt))
		result = next.shmdt(address);
	if (is_outermost)
		log_leave();
	return result;
}

PUBLIC void *
sbrk(intptr_t more)
{
	const bool is_outermost = log_enter();
	void *before = FIND(sbrk) ? next.sbrk(more) : (void *)-1;

	if (is_outermost) {
		if (before != (void *)-1 && more > 0)
			log_born(OBJECT_MAPPED, before, (size_t)more, CALLER, FRAME);
		else if (before != (void *)-1 && more < 0)
			log_changed(OBJECT_UNMAPPED, (char *)before + more, (size_t)-more, log_now());
		log_leave();
	}
	return before;
}

PUBLIC int
brk(void *address)
{
	const bool is_outermost = log_enter();
	char *before = is_outermost && FIND(sbrk) ? next.sbrk(0) : NULL;
	const int result = FIND(brk) ? next.brk(address) : -1;

	if (is_outermost) {
		if (result == 0 && before && (char *)address > before)
			log_born(OBJECT_MAPPED, before, (size_t)((char *)address - before), CALLER, FRAME);
		else if (result == 0 && before && (char *)address < before)
			log_changed(OBJECT_UNMAPPED, address, (size_t)(before - (char *)address), log_now());
		log_leave();
	}
	return result;
}

/* ---- threads ---- */

struct start {
	void *(*function)(void *);
	void *data;
};

/* For dl_iterate_phdr(): where the thread-local variables of the calling thread begin that are near its descriptor. */
static int
find_thread_local(struct dl_phdr_info *info, size_t size, void *data)
{
	char **first = data, *variables = info->dlpi_tls_data;

	(void)size;
	if (variables && variables < *first && *first - variables < TLS_BYTES_MAX)
		*first = variables;
	return 0;
}

/* Where the calling thread's stack and its thread-local variables are. */
static void
record_stack(void)
{
	char *own = __builtin_thread_pointer(), *first = own;
	pthread_attr_t attributes;
	void *stack = NULL;
	size_t size = 0;
	uint64_t now;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (pthread_attr_getstack(&attributes, &stack, &size))
		size = 0;
	pthread_attr_destroy(&attributes);
	dl_iterate_phdr(find_thread_local, &first);
	now = log_now();
	log_changed(OBJECT_STACK, stack, size, now);
	if (first < own)
		log_changed(OBJECT_THREAD_LOCAL, first, (size_t)(own - first), now);
}

static void *
start_thread(void *data)
{
	const struct start start = *(struct start *)data;

	if (log_enter()) {
		next.free(data);
		record_stack();
		log_leave();
	}
	return start.function(start.data);
}

PUBLIC int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *data)
{
	const bool is_outermost = log_enter();
	struct start *start = NULL;
	int error = EAGAIN;

	if (FIND(pthread_create) && FIND(free) && FIND(malloc))
		start = next.malloc(sizeof(*start));
	if (start) {
		*start = (struct start){function, data};
		error = next.pthread_create(thread, attributes, start_thread, start);
		if (error)
			next.free(start);
	}
	if (is_outermost)
		log_leave();
	return error;
}

static __attribute__((constructor)) void
begin(void)
{
	pthread_atfork(NULL, NULL, log_begin_child);
	if (log_enter()) {
		record_stack();
		log_leave();
	}
}
