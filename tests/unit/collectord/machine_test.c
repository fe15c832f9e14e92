#include "collectord/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "profile/epoch.h"

#include "tests/unit/test.h"

#include "tests/unit/event/fake_tree.h"

static void
assert_model(const char *cpuinfo, const char *expected)
{
	char model[64] = "?";

	epoch_host_cpu_model(cpuinfo, model, sizeof(model));
	assert_string_equal(model, expected);
}

static void
the_model_is_found_in_the_words_of_each_architecture(void **state)
{
	(void)state;
	assert_model("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7B13\n"
	             "stepping\t: 0\n\nprocessor\t: 1\nmodel name\t: another\n",
	             "AMD EPYC 7B13");
	assert_model("processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\n", "POWER9 (raw), altivec supported");
	assert_model("processor\t: 0\nhart\t\t: 1\nuarch\t\t: sifive,u74-mc\n", "sifive,u74-mc");
	assert_model("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
	             "CPU part\t: 0xd0c\n",
	             "ARM implementer 0x41, part 0xd0c");
}

/* The name alone does not say what pipeline it has. */
static void
an_x86_has_its_family_and_model_behind_its_name(void **state)
{
	(void)state;
	assert_model("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
	             "model name\t: AMD EPYC\nstepping\t: 1\n",
	             "AMD EPYC (AuthenticAMD family 25 model 17)");
}

#define XEON "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 167\nmodel name\t: Xeon\n"

/* A hypervisor may give the numbers of an older model. */
static void
an_x86_with_amx_says_so(void **state)
{
	(void)state;
	assert_model(XEON "flags\t\t: fpu avx512_fp16 amx_tile amx_int8\nbugs\t\t: spectre_v1\n",
	             "Xeon (GenuineIntel family 6 model 167 with amx_tile)");
	assert_model(XEON "flags\t\t: fpu amx_tile\n", "Xeon (GenuineIntel family 6 model 167 with amx_tile)");
	assert_model(XEON "flags\t\t: fpu amx_tiles\nvmx flags\t: amx_tile\n",
	             "Xeon (GenuineIntel family 6 model 167)");
	assert_model(XEON "flags\t\t:\n", "Xeon (GenuineIntel family 6 model 167)");
}

static void
a_model_that_is_not_there_is_empty(void **state)
{
	(void)state;
	assert_model("", "");
	assert_model("processor : 0\nflags : model name\n", "");
	assert_model("CPU implementer : 0x41", "");
	assert_model("model name", "");
	assert_model("model name :\n", "");
}

static void
a_model_too_long_is_cut(void **state)
{
	char model[8];

	(void)state;
	epoch_host_cpu_model("model name : 0123456789\n", model, sizeof(model));
	assert_string_equal(model, "0123456");
}

/* As uname(1) prints it. */
static void
the_epoch_says_where_it_was_collected(void **state)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct utsname name;

	(void)state;
	assert_int_equal(uname(&name), 0);
	epoch_host_describe("/proc", epoch);
	assert_string_equal(epoch->host, name.nodename);
	assert_memory_equal(epoch->kernel, name.release, strlen(name.release));
	assert_non_null(strstr(epoch->kernel, name.version));
	assert_string_equal(epoch->kernel + strlen(epoch->kernel) - strlen(name.machine), name.machine);
	free(epoch);
}

static void
a_processor_that_only_the_device_tree_knows_is_named(void **state)
{
	char procfs[64] = "/tmp/dcpi-machine.XXXXXX", path[128];
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(procfs));
	snprintf(path, sizeof(path), "%s/device-tree", procfs);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/device-tree/model", procfs);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("Raspberry Pi 4 Model B", file);
	fclose(file);
	epoch_host_describe(procfs, epoch);
	assert_string_equal(epoch->cpu, "Raspberry Pi 4 Model B");
	unlink(path);
	snprintf(path, sizeof(path), "%s/device-tree", procfs);
	rmdir(path);
	rmdir(procfs);
	free(epoch);
}

static void
our_own_cost_grows_with_work(void **state)
{
	const uint64_t before_ns = machine_cpu_time_ns(), start_ns = machine_clock_ns(CLOCK_MONOTONIC);
	volatile unsigned spin = 0;

	(void)state;
	while (machine_clock_ns(CLOCK_MONOTONIC) - start_ns < 20000000)
		spin++;
	assert_true(machine_cpu_time_ns() > before_ns);
}

static void
memory_that_is_written_becomes_our_own(void **state)
{
	const size_t size = 8 << 20;
	struct machine_memory before, after;
	char *memory = malloc(size);

	(void)state;
	assert_non_null(memory);
	machine_memory(&before);
	memset(memory, 1, size);
	machine_memory(&after);
	assert_in_range(before.own_bytes, 4096, before.resident_bytes - 4096); /* the program is a file's */
	assert_in_range(after.own_bytes - before.own_bytes, size - (1 << 20), UINT64_C(2) * size);
	free(memory);
}

static void
what_is_free_between_what_is_kept_is_given_back(void **state)
{
	enum { PIECES = 2048, SIZE = 8192 };
	struct machine_memory before, after;
	char *pieces[PIECES], *kept[PIECES];

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer has an allocator of its own");
#endif
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = malloc(SIZE);
		kept[i] = malloc(16);
		assert_non_null(pieces[i]);
		memset(pieces[i], 1, SIZE);
	}
	for (size_t i = 0; i < PIECES; i++)
		free(pieces[i]);
	machine_memory(&before);
	machine_trim_heap();
	machine_memory(&after);
	/* of each piece of 8 KiB, one page that lies in it whole, at least */
	assert_true(before.own_bytes - after.own_bytes >= UINT64_C(4096) * PIECES / 2);
	for (size_t i = 0; i < PIECES; i++)
		free(kept[i]);
}

static void
time_that_is_not_idle_is_busy(void **state)
{
	const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	char procfs[64] = "/tmp/dcpi-machine.XXXXXX", path[128];
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(procfs));
	assert_int_equal(machine_busy_ns(procfs), 0);
	snprintf(path, sizeof(path), "%s/stat", procfs);
	file = fopen(path, "w");
	assert_non_null(file);
	/* user, nice, system, idle, iowait, irq, softirq, steal, guest (which is in user) */
	fputs("cpu  100 20 3 5000 600 7 8 9 50 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n", file);
	fclose(file);
	assert_int_equal(machine_busy_ns(procfs), 147 * tick_ns);
	unlink(path);
	rmdir(procfs);
}

static int
make_tree(void **state)
{
	fake_tree_setup(state);
	fake_tree_write(*state, "devices/system/cpu/online", "0-3\n");
	fake_tree_write(*state, "kernel/uevent_seqnum", "812\n");
	fake_tree_write(*state, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	return 0;
}

/* That the machine runs on as it is, its clocks included, is no change. */
static struct machine_watch *
watch_tree(const struct fake_tree *tree)
{
	struct machine_watch *watch = machine_watch_new(tree->root, tree->root);

	assert_non_null(watch);
	assert_int_equal(machine_watch_poll(watch), 0);
	return watch;
}

static void
a_machine_that_stays_the_same_has_not_changed(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
another_list_of_cpus_is_told_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	fake_tree_write(*state, "devices/system/cpu/online", "0,2-3\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_CPUS);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
a_cpu_that_came_back_before_anybody_looked_is_suspected(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	fake_tree_write(*state, "kernel/uevent_seqnum", "814\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_CPUS);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
a_lowered_rate_limit_is_told_and_known(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	assert_int_equal(machine_watch_rate_limit(watch), 100000);
	fake_tree_write(*state, "sys/kernel/perf_event_max_sample_rate", "79000\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_RATE_LIMIT);
	assert_int_equal(machine_watch_rate_limit(watch), 79000);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static bool
is_readable(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

/* To set it to what it is, is to set it. */
static void
a_clock_that_is_set_rings_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);
	struct timespec now;

	assert_true(machine_watch_descriptor(watch) >= 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	if (clock_settime(CLOCK_REALTIME, &now)) {
		machine_watch_free(watch);
		skip_because("not allowed to set the clock");
	}
	assert_true(is_readable(machine_watch_descriptor(watch)));
	assert_int_equal(machine_watch_poll(watch), 0); /* not by so much that it matters */
	assert_false(is_readable(machine_watch_descriptor(watch)));
	machine_watch_free(watch);
}

static void
a_machine_without_these_files_never_changes(void **state)
{
	struct machine_watch *watch = machine_watch_new("/nonexistent", "/nonexistent");

	(void)state;
	assert_non_null(watch);
	assert_int_equal(machine_watch_poll(watch), 0);
	assert_int_equal(machine_watch_rate_limit(watch), 0);
	machine_watch_free(watch);
}

/* Root may have the kernel say again that a device went online; the kernel then says it to all. */
static bool
have_said(const char *what)
{
	int fd = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);
	bool said = fd >= 0 && write(fd, what, strlen(what)) > 0;

	if (fd >= 0)
		close(fd);
	return said;
}

static bool
may_listen_to_kernel(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	bool may = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return may;
}

static bool
becomes_readable(const struct machine_watch *watch)
{
	struct pollfd fd = {.fd = machine_watch_descriptor(watch), .events = POLLIN};

	return poll(&fd, 1, 100) == 1;
}

static void
a_device_that_went_online_rings_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	if (!may_listen_to_kernel() || !have_said("online")) {
		machine_watch_free(watch);
		skip_because("the kernel may not be listened to, or asked");
	}
	assert_true(becomes_readable(watch));
	machine_watch_poll(watch);
	assert_false(becomes_readable(watch));
	machine_watch_free(watch);
}

static void
a_device_that_only_changed_does_not_ring(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	if (!may_listen_to_kernel() || !have_said("change")) {
		machine_watch_free(watch);
		skip_because("the kernel may not be listened to, or asked");
	}
	assert_false(becomes_readable(watch));
	machine_watch_free(watch);
}

/* What cannot be opened has a negative descriptor, and is cleared for nothing. */
static void
a_watch_without_descriptors_is_polled_all_the_same(void **state)
{
	struct rlimit limit, none;
	struct machine_watch *watch;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	watch = machine_watch_new("/sys", "/proc");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(watch);
	assert_true(machine_watch_descriptor(watch) < 0);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_is_found_in_the_words_of_each_architecture),
		cmocka_unit_test(an_x86_has_its_family_and_model_behind_its_name),
		cmocka_unit_test(an_x86_with_amx_says_so),
		cmocka_unit_test(a_model_that_is_not_there_is_empty),
		cmocka_unit_test(a_model_too_long_is_cut),
		cmocka_unit_test(the_epoch_says_where_it_was_collected),
		cmocka_unit_test(a_processor_that_only_the_device_tree_knows_is_named),
		cmocka_unit_test(our_own_cost_grows_with_work),
		cmocka_unit_test(memory_that_is_written_becomes_our_own),
		cmocka_unit_test(what_is_free_between_what_is_kept_is_given_back),
		cmocka_unit_test(time_that_is_not_idle_is_busy),
		cmocka_unit_test_setup_teardown(a_machine_that_stays_the_same_has_not_changed, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(another_list_of_cpus_is_told_once, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_cpu_that_came_back_before_anybody_looked_is_suspected, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_lowered_rate_limit_is_told_and_known, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_clock_that_is_set_rings_once, make_tree, fake_tree_teardown),
		cmocka_unit_test(a_machine_without_these_files_never_changes),
		cmocka_unit_test_setup_teardown(a_device_that_went_online_rings_once, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_device_that_only_changed_does_not_ring, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test(a_watch_without_descriptors_is_polled_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
