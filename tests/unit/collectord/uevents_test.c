#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "collectord/uevents.h"

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
rings(int fd)
{
	struct pollfd bell = {.fd = fd, .events = POLLIN};

	return poll(&bell, 1, 100) == 1;
}

static int
open_or_skip(void)
{
	int fd = uevents_open();

	if (fd < 0)
		skip_because("the kernel may not be listened to, or asked");
	return fd;
}

static void
a_device_that_went_online_rings_once(void **state)
{
	int fd = open_or_skip();

	(void)state;
	uevents_clear(fd);
	if (!have_said("online"))
		skip_because("the kernel may not be listened to, or asked");
	assert_true(rings(fd));
	uevents_clear(fd);
	assert_false(rings(fd));
	close(fd);
}

static void
what_only_changed_does_not_ring(void **state)
{
	int fd = open_or_skip();

	(void)state;
	uevents_clear(fd);
	if (!have_said("change"))
		skip_because("the kernel may not be listened to, or asked");
	assert_false(rings(fd));
	close(fd);
}

static void
no_descriptor_is_cleared_for_nothing(void **state)
{
	(void)state;
	uevents_clear(-EAFNOSUPPORT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_went_online_rings_once),
		cmocka_unit_test(what_only_changed_does_not_ring),
		cmocka_unit_test(no_descriptor_is_cleared_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
