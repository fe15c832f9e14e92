#include "collectord/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/test.h"

/* A service manager: receives datagrams at an abstract name or a path. */
struct manager {
	int fd;
	char name[64]; /* as $NOTIFY_SOCKET has it */
	char received[1024];
};

static void
manager_init(struct manager *manager, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name == '/'));

	snprintf(manager->name, sizeof(manager->name), "%s", name);
	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')
		address.sun_path[0] = '\0';
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(manager->fd >= 0);
	assert_int_equal(bind(manager->fd, (struct sockaddr *)&address, length), 0);
}

static const char *
manager_receive(struct manager *manager)
{
	ssize_t length = recv(manager->fd, manager->received, sizeof(manager->received) - 1, MSG_DONTWAIT);

	manager->received[length > 0 ? length : 0] = '\0';
	return manager->received;
}

static struct notify *
notify_to(const char *socket, const char *usec, const char *pid)
{
	const struct notify_environment environment = {.socket = socket, .watchdog_usec = usec, .watchdog_pid = pid};

	return notify_new(&environment);
}

static int
start_manager(void **state)
{
	struct manager *manager = calloc(1, sizeof(*manager));
	char name[64];

	snprintf(name, sizeof(name), "@dcpi-notify-test-%d", (int)getpid());
	manager_init(manager, name);
	*state = manager;
	return 0;
}

static int
stop_manager(void **state)
{
	struct manager *manager = *state;

	close(manager->fd);
	free(manager);
	return 0;
}

static void
every_state_has_its_message(void **state)
{
	struct manager *manager = *state;
	struct notify *notify = notify_to(manager->name, NULL, NULL);

	assert_non_null(notify);
	assert_int_equal(notify_ready(notify, "collecting"), 0);
	assert_string_equal(manager_receive(manager), "READY=1\nSTATUS=collecting");
	assert_int_equal(notify_status(notify, "5 samples"), 0);
	assert_string_equal(manager_receive(manager), "STATUS=5 samples");
	assert_int_equal(notify_watchdog(notify), 0);
	assert_string_equal(manager_receive(manager), "WATCHDOG=1");
	assert_int_equal(notify_stopping(notify, "writing"), 0);
	assert_string_equal(manager_receive(manager), "STOPPING=1\nSTATUS=writing");
	notify_free(notify);
}

static void
reloading_says_when(void **state)
{
	struct manager *manager = *state;
	struct notify *notify = notify_to(manager->name, NULL, NULL);
	unsigned long long usec, before_usec, after_usec;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	before_usec = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
	assert_int_equal(notify_reloading(notify), 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	after_usec = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
	assert_int_equal(sscanf(manager_receive(manager), "RELOADING=1\nMONOTONIC_USEC=%llu\n", &usec), 1);
	assert_in_range(usec, before_usec, after_usec);
	notify_free(notify);
}

static void
a_newline_in_a_status_begins_no_assignment(void **state)
{
	struct manager *manager = *state;
	struct notify *notify = notify_to(manager->name, NULL, NULL);

	assert_int_equal(notify_status(notify, "a\nMAINPID=1"), 0);
	assert_string_equal(manager_receive(manager), "STATUS=a MAINPID=1");
	notify_free(notify);
}

static void
a_socket_in_the_file_system_is_reached_too(void **state)
{
	struct manager manager = {.fd = -1};
	struct notify *notify;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/dcpi-notify-test-%d", (int)getpid());
	manager_init(&manager, path);
	notify = notify_to(path, NULL, NULL);
	assert_int_equal(notify_watchdog(notify), 0);
	assert_string_equal(manager_receive(&manager), "WATCHDOG=1");
	notify_free(notify);
	close(manager.fd);
	unlink(path);
}

static void
without_a_manager_nothing_happens(void **state)
{
	struct notify *notify = notify_to(NULL, "1000000", NULL);

	(void)state;
	assert_non_null(notify);
	assert_int_equal(notify_ready(notify, "x"), 0);
	assert_int_equal(notify_reloading(notify), 0);
	assert_int_equal(notify_watchdog_ns(notify), 0);
	notify_free(notify);
}

static void
a_manager_that_is_gone_does_not_hold_us_up(void **state)
{
	struct notify *notify = notify_to("@dcpi-notify-nobody", NULL, NULL);

	(void)state;
	assert_int_equal(notify_ready(notify, "x"), -ECONNREFUSED);
	notify_free(notify);
}

static void
a_manager_that_does_not_read_does_not_hold_us_up(void **state)
{
	struct manager *manager = *state;
	struct notify *notify = notify_to(manager->name, NULL, NULL);
	int err = 0;

	for (int i = 0; i < 100000 && !err; i++)
		err = notify_watchdog(notify);
	assert_int_equal(err, -EAGAIN);
	notify_free(notify);
}

static void
a_name_that_is_no_socket_is_refused(void **state)
{
	char longer[200];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_null(notify_to("relative", NULL, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(notify_to("", NULL, NULL));
	assert_null(notify_to("@", NULL, NULL));
	assert_null(notify_to(longer, NULL, NULL));
	assert_int_equal(errno, EINVAL);
}

static void
assert_watchdog(const char *usec, const char *pid, uint64_t expected_ns)
{
	struct notify *notify = notify_to("@x", usec, pid);

	assert_non_null(notify);
	assert_int_equal(notify_watchdog_ns(notify), expected_ns);
	notify_free(notify);
}

/* Every 5 s are enough for one of 60 s, and too late for one of 4 s. */
static void
a_watchdog_is_fed_twice_in_its_time(void **state)
{
	struct notify *slow = notify_to("@x", "60000000", NULL), *fast = notify_to("@x", "4000000", NULL);
	struct notify *none = notify_to("@x", NULL, NULL);

	(void)state;
	assert_int_equal(notify_feeding_ns(slow, UINT64_C(5000000000)), UINT64_C(5000000000));
	assert_int_equal(notify_feeding_ns(fast, UINT64_C(5000000000)), UINT64_C(2000000000));
	assert_int_equal(notify_feeding_ns(none, UINT64_C(5000000000)), UINT64_C(5000000000));
	notify_free(slow);
	notify_free(fast);
	notify_free(none);
}

static void
the_watchdog_is_ours_when_it_names_us_or_nobody(void **state)
{
	char own[16], other[16];

	(void)state;
	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(other, sizeof(other), "%d", (int)getpid() + 1);
	assert_watchdog("60000000", NULL, UINT64_C(60000000000));
	assert_watchdog("60000000", own, UINT64_C(60000000000));
	assert_watchdog("60000000", other, 0);
	assert_watchdog(NULL, own, 0);
	assert_watchdog("soon", NULL, 0);
	assert_watchdog("18446744073709551615", NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_state_has_its_message, start_manager, stop_manager),
		cmocka_unit_test_setup_teardown(reloading_says_when, start_manager, stop_manager),
		cmocka_unit_test_setup_teardown(a_newline_in_a_status_begins_no_assignment, start_manager,
	                                        stop_manager),
		cmocka_unit_test(a_socket_in_the_file_system_is_reached_too),
		cmocka_unit_test(without_a_manager_nothing_happens),
		cmocka_unit_test(a_manager_that_is_gone_does_not_hold_us_up),
		cmocka_unit_test_setup_teardown(a_manager_that_does_not_read_does_not_hold_us_up, start_manager,
	                                        stop_manager),
		cmocka_unit_test(a_name_that_is_no_socket_is_refused),
		cmocka_unit_test(a_watchdog_is_fed_twice_in_its_time),
		cmocka_unit_test(the_watchdog_is_ours_when_it_names_us_or_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
