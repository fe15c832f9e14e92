#include "capture/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_MAX  ((rlim_t)768 << 20) /* bytes of addresses: the largest symbol tables need half of it */
#define SECONDS_MAX 20                  /* of processor time */
#define NOBODY      65534

/* A sanitizer maps terabytes, and makes calls that no jail allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static int
limit(int resource, rlim_t value)
{
	const struct rlimit to = {value, value};

	return setrlimit((__rlimit_resource_t)resource, &to) < 0 ? -errno : 0;
}

int
jail_prepare(void)
{
	int err;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	err = limit(RLIMIT_CORE, 0);
	if (!err)
		err = limit(RLIMIT_CPU, SECONDS_MAX);
	if (!err && !IS_SANITIZED)
		err = limit(RLIMIT_AS, MEMORY_MAX);
	return err;
}

static int
drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

/* Root has rights without capabilities: on its own files. So change the user; without CAP_SETUID it stays what it is.
 */
static int
drop_user(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return errno == EPERM ? 0 : -errno;
	return 0;
}

/* Calls that are harmless whatever their arguments are. */
static int
allow_plain(scmp_filter_ctx filter)
{
	static const int calls[] = {
		SCMP_SYS(read),         SCMP_SYS(pread64),        SCMP_SYS(lseek),
		SCMP_SYS(fstat),        SCMP_SYS(write),          SCMP_SYS(brk),
		SCMP_SYS(munmap),       SCMP_SYS(mremap),         SCMP_SYS(madvise),
		SCMP_SYS(futex),        SCMP_SYS(exit),           SCMP_SYS(exit_group),
		SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(clock_gettime),
		SCMP_SYS(getrandom),    SCMP_SYS(close),          SCMP_SYS(sysinfo),
		SCMP_SYS(gettid),       SCMP_SYS(getpid),
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (!err) /* glibc's fstat() */
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
		                       SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	return err;
}

/* Calls that libraries try, and whose failure they handle: they open other files. */
static int
deny_files(scmp_filter_ctx filter)
{
	static const int calls[] = {
		SCMP_SYS(openat),     SCMP_SYS(open),     SCMP_SYS(stat),       SCMP_SYS(access),
		SCMP_SYS(faccessat),  SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(ioctl),
		SCMP_SYS(faccessat2), SCMP_SYS(statx),    SCMP_SYS(prlimit64),  SCMP_SYS(fcntl),
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return err;
}

/* Memory, but none that can be executed; open files may be mapped, so that they need not be copied. */
static int
allow_memory(scmp_filter_ctx filter)
{
	int err;

	err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
	                       SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
	if (err)
		return err;
	err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_EQ, PROT_READ),
	                       SCMP_A3(SCMP_CMP_EQ, MAP_PRIVATE));
	if (err)
		return err;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
	                        SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

static int
filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err;

	if (!filter)
		return -ENOMEM;
	err = allow_plain(filter);
	if (err)
		goto out;
	err = deny_files(filter);
	if (err)
		goto out;
	err = allow_memory(filter);
	if (err)
		goto out;
	err = seccomp_load(filter);
out:
	seccomp_release(filter);
	return err;
}

int
jail_enter(void)
{
	int err;

	err = drop_user();
	if (err)
		return err;
	err = drop_capabilities();
	if (err)
		return err;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return -errno;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) /* a change of user has cleared it */
		return -errno;
	err = limit(RLIMIT_NOFILE, 0);
	if (err || IS_SANITIZED)
		return err;
	return filter_calls();
}
