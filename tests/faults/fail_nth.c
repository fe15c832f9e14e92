/*
 * fail_nth - preloaded into a program: call number FAULT_NTH of kind FAULT_KIND fails
 *
 * Counted are the calls from main() on, of all threads. When the call came, FAULT_REPORT gets its name and its caller;
 * else, at the end, the number of calls there were. Standard error stays as it is: there the program says what
 * happened. Calls that libc makes itself are not seen. With FAULT_PLACES only the first call from each place counts, a
 * place being the last ten functions that led there.
 *
 * Kind `unstopped`: no counter of perf can be disabled, and the disk needs a fifth of a second for what is written.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <lmdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static long nth;
static atomic_long calls;
static atomic_bool armed;
static bool by_place;
#define PLACES (1u << 16)
static atomic_ulong places[PLACES]; /* hashes; 0: free */

/* libc's own, which nobody can stand in front of */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static int
open_report(void)
{
	const char *path = getenv("FAULT_REPORT");

	return path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

static void
report(const char *call)
{
	void *callers[24];
	int fd = open_report();

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", call);
	backtrace_symbols_fd(callers, backtrace(callers, 24), fd);
	close(fd);
}

static bool
place_is_new(void)
{
	void *callers[12] = {0};
	unsigned long hash = 14695981039346656037u, none;

	backtrace(callers, 12);
	for (size_t i = 2; i < 12; i++)
		hash = (hash ^ (unsigned long)callers[i]) * 1099511628211u;
	for (size_t i = hash >> 48;; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&places[i % PLACES], &none, hash | 1))
			return true;
		if (none == (hash | 1))
			return false;
	}
}

/*
 * What these do without memory is not for us to mend. Configuration and user names are read when dcpid starts; libevent
 * makes a connection that never sends what it is given, until the client has waited long enough; capstone does not look
 * whether it got the memory for its table of instructions.
 */
static bool
is_spared(void)
{
	static const char *const spared[] = {"libconfig", "libnss", "libcapstone"};
	static const char *const functions[] = {"getpwuid", "getgrgid", "bufferevent_socket_new"};
	void *callers[24];
	const int count = backtrace(callers, 24);
	Dl_info info;

	for (int i = 0; i < count; i++) {
		if (!dladdr(callers[i], &info))
			continue;
		for (size_t k = 0; k < sizeof(spared) / sizeof(spared[0]); k++)
			if (info.dli_fname && strstr(info.dli_fname, spared[k]))
				return true;
		for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++)
			if (info.dli_sname && strcmp(info.dli_sname, functions[k]) == 0)
				return true;
	}
	return false;
}

/* Is this the one? The rest of the program's life is undisturbed. */
static bool
fails(const char *of, const char *call)
{
	int before = errno;
	bool spared;

	if (!atomic_load(&armed) || strcmp(of, kind) != 0)
		return false;
	if ((by_place && !place_is_new()) || atomic_fetch_add(&calls, 1) + 1 != nth) {
		errno = before;
		return false;
	}
	atomic_store(&armed, false);
	spared = strcmp(of, "alloc") == 0 && is_spared();
	report(spared ? "spared" : call);
	errno = before;
	return !spared;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Define `name` so that it fails with `error` as errno and `value`. */
#define FAILING(of, type, name, parameters, arguments, error, value)                                                   \
	type name parameters                                                                                           \
	{                                                                                                              \
		static __typeof__(&name) real;                                                                         \
                                                                                                                       \
		if (fails(of, #name)) {                                                                                \
			errno = (error);                                                                               \
			return value;                                                                                  \
		}                                                                                                      \
		if (!real)                                                                                             \
			real = REAL(name);                                                                             \
		return real arguments;                                                                                 \
	}

/* The same for what returns its error. */
#define FAILING_WITH(of, name, parameters, arguments, error) FAILING(of, int, name, parameters, arguments, errno, error)

void *
malloc(size_t size)
{
	return fails("alloc", "malloc") ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}

/* The tally, when it grows: a table of 32-byte entries, 1024 at first. */
static bool
is_tally(size_t count, size_t size)
{
	return size == 32 && count >= 2048 && (count & (count - 1)) == 0;
}

void *
calloc(size_t count, size_t size)
{
	if (is_tally(count, size) && fails("tally", "calloc"))
		return (errno = ENOMEM, NULL);
	return fails("alloc", "calloc") ? (errno = ENOMEM, NULL) : __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
	return fails("alloc", "realloc") ? (errno = ENOMEM, NULL) : __libc_realloc(old, size);
}

void *
reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || fails("alloc", "reallocarray"))
		return (errno = ENOMEM, NULL);
	return __libc_realloc(old, bytes);
}

FAILING_WITH("alloc", posix_memalign, (void **memory, size_t alignment, size_t size), (memory, alignment, size), ENOMEM)

FAILING("mmap", void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
        (at, size, protection, flags, fd, offset), ENOMEM, MAP_FAILED)

#define DISK_ERROR (nth % 2 ? EIO : ENOSPC)
FAILING("write", ssize_t, pwrite, (int fd, const void *data, size_t size, off_t offset), (fd, data, size, offset),
        DISK_ERROR, -1)
FAILING("write", ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), DISK_ERROR, -1)
FAILING("write", ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t offset),
        (fd, parts, count, offset), DISK_ERROR, -1)
FAILING("write", ssize_t, sendto,
        (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size),
        (fd, data, size, flags, to, to_size), ENOBUFS, -1)
FAILING("write", int, ftruncate, (int fd, off_t size), (fd, size), DISK_ERROR, -1)
FAILING_WITH("write", posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size), DISK_ERROR)

static bool
is_file(int fd)
{
	struct stat stat;

	return syscall(SYS_fstat, fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

/* An eventfd takes what it is given. */
ssize_t
write(int fd, const void *data, size_t size)
{
	if (fd != STDERR_FILENO && is_file(fd) && fails("write", "write"))
		return (errno = DISK_ERROR, -1);
	return syscall(SYS_write, fd, data, size);
}

static bool
is_unstopped(void)
{
	return kind && strcmp(kind, "unstopped") == 0;
}

int
fdatasync(int fd)
{
	if (fails("sync", "fdatasync"))
		return (errno = EIO, -1);
	if (is_unstopped())
		usleep(200000);
	return (int)syscall(SYS_fdatasync, fd);
}

FAILING("sync", int, fsync, (int fd), (fd), EIO, -1)
FAILING("sync", int, msync, (void *at, size_t size, int flags), (at, size, flags), EIO, -1)

FAILING("read", ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), EIO, -1)
FAILING("read", ssize_t, pread, (int fd, void *data, size_t size, off_t offset), (fd, data, size, offset), EIO, -1)
FAILING("read", ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), EIO, -1)
FAILING("read", size_t, fread, (void *data, size_t size, size_t count, FILE *file), (data, size, count, file), EIO, 0)
FAILING("read", ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size), EIO, -1)
FAILING("read", ssize_t, readlinkat, (int fd, const char *path, char *text, size_t size), (fd, path, text, size), EIO,
        -1)
FAILING("read", struct dirent *, readdir, (DIR * directory), (directory), EIO, NULL)

FAILING("open", FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
FAILING("open", DIR *, opendir, (const char *path), (path), EMFILE, NULL)
FAILING("open", DIR *, fdopendir, (int fd), (fd), ENOMEM, NULL)
FAILING("open", int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, -1)
FAILING("open", int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
        (fd, address, size, flags), EMFILE, -1)
FAILING("open", int, eventfd, (unsigned value, int flags), (value, flags), EMFILE, -1)
FAILING_WITH("open", pthread_create,
             (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context),
             (thread, attributes, run, context), EAGAIN)

static mode_t
mode_of(int flags, va_list arguments)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int
open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	if (fails("open", "open"))
		return (errno = EMFILE, -1);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
openat(int fd, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	if (fails("open", "openat"))
		return (errno = EMFILE, -1);
	return (int)syscall(SYS_openat, fd, path, flags, mode);
}

int
ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (fails("perf", "ioctl"))
		return (errno = ENODEV, -1);
	if (is_unstopped() && request == PERF_EVENT_IOC_DISABLE)
		return (report("ioctl"), errno = ENODEV, -1);
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

/* perf_event_open(2) has no function in libc. */
long
syscall(long number, ...)
{
	static __typeof__(&syscall) real;
	va_list list;
	long a[6];

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open && fails("perf", "perf_event_open"))
		return (errno = nth % 2 ? EMFILE : EBUSY, -1);
	if (!real)
		real = REAL(syscall);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

FAILING("clock", int, clock_gettime, (clockid_t clock, struct timespec *time), (clock, time), EINVAL, -1)
FAILING("wait", int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), EINTR, -1)
FAILING("wait", int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
        (fd, level, name, value, size), ENOBUFS, -1)
FAILING("wait", int, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size), EADDRINUSE,
        -1)
FAILING("wait", int, listen, (int fd, int backlog), (fd, backlog), EADDRINUSE, -1)
FAILING("wait", int, connect, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size), EINTR, -1)
FAILING("wait", int, fchmod, (int fd, mode_t mode), (fd, mode), EIO, -1)
FAILING("wait", int, fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags), EIO, -1)
FAILING("wait", int, mkdir, (const char *path, mode_t mode), (path, mode), EROFS, -1)
FAILING("wait", int, fstat, (int fd, struct stat *stat), (fd, stat), EIO, -1)
FAILING("wait", int, fstatat, (int fd, const char *path, struct stat *stat, int flags), (fd, path, stat, flags), EIO,
        -1)

#define LMDB(name, parameters, arguments, error) FAILING_WITH("lmdb", name, parameters, arguments, error)
LMDB(mdb_env_create, (MDB_env * *env), (env), ENOMEM)
LMDB(mdb_env_set_maxdbs, (MDB_env * env, MDB_dbi count), (env, count), EINVAL)
LMDB(mdb_env_set_mapsize, (MDB_env * env, size_t size), (env, size), ENOMEM)
LMDB(mdb_env_open, (MDB_env * env, const char *path, unsigned flags, mdb_mode_t mode), (env, path, flags, mode), EIO)
LMDB(mdb_env_info, (MDB_env * env, MDB_envinfo *info), (env, info), EINVAL)
LMDB(mdb_env_stat, (MDB_env * env, MDB_stat *stat), (env, stat), EINVAL)
LMDB(mdb_txn_begin, (MDB_env * env, MDB_txn *parent, unsigned flags, MDB_txn **txn), (env, parent, flags, txn), ENOMEM)
LMDB(mdb_dbi_open, (MDB_txn * txn, const char *name, unsigned flags, MDB_dbi *dbi), (txn, name, flags, dbi), ENOMEM)
LMDB(mdb_stat, (MDB_txn * txn, MDB_dbi dbi, MDB_stat *stat), (txn, dbi, stat), EINVAL)
LMDB(mdb_get, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value), (txn, dbi, key, value), ENOMEM)
LMDB(mdb_put, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags), (txn, dbi, key, value, flags),
     MDB_MAP_FULL)
LMDB(mdb_del, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value), (txn, dbi, key, value), MDB_MAP_FULL)
LMDB(mdb_cursor_open, (MDB_txn * txn, MDB_dbi dbi, MDB_cursor **cursor), (txn, dbi, cursor), ENOMEM)
LMDB(mdb_cursor_get, (MDB_cursor * cursor, MDB_val *key, MDB_val *value, MDB_cursor_op step),
     (cursor, key, value, step), EIO)
LMDB(mdb_cursor_put, (MDB_cursor * cursor, MDB_val *key, MDB_val *value, unsigned flags), (cursor, key, value, flags),
     MDB_MAP_FULL)
LMDB(mdb_cursor_del, (MDB_cursor * cursor, unsigned flags), (cursor, flags), MDB_MAP_FULL)
LMDB(mdb_reader_check, (MDB_env * env, int *dead), (env, dead), ENOMEM)
LMDB(mdb_reader_list, (MDB_env * env, MDB_msg_func *say, void *context), (env, say, context), -1)

/* A commit that fails has ended its transaction nevertheless. */
int
mdb_txn_commit(MDB_txn *txn)
{
	if (!fails("lmdb", "mdb_txn_commit"))
		return REAL(mdb_txn_commit)(txn);
	mdb_txn_abort(txn);
	return EIO;
}

static void __attribute__((destructor)) report_calls(void)
{
	int fd = atomic_exchange(&armed, false) ? open_report() : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%ld calls\n", atomic_load(&calls));
	close(fd);
}

static int (*program)(int argc, char **argv, char **environment);

static int
begin(int argc, char **argv, char **environment)
{
	const char *number = getenv("FAULT_NTH");
	void *caller;

	kind = getenv("FAULT_KIND");
	by_place = getenv("FAULT_PLACES");
	nth = number ? strtol(number, NULL, 10) : 0;
	backtrace(&caller, 1);  /* allocates the first time */
	unsetenv("LD_PRELOAD"); /* what the program starts is not looked at */
	atomic_store(&armed, kind && nth > 0);
	return program(argc, argv, environment);
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader)(void), void *stack);

int
__libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                  void (*loader)(void), void *stack)
{
	program = entry;
	return REAL(__libc_start_main)(begin, argc, argv, init, fini, loader, stack);
}
