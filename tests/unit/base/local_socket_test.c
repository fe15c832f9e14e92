#include "base/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

struct socket_place {
	char directory[64];
	char path[512];
};

static int
make_place(void **state)
{
	struct socket_place *place = calloc(1, sizeof(*place));

	snprintf(place->directory, sizeof(place->directory), "/tmp/dcpi-socket.XXXXXX");
	if (!mkdtemp(place->directory))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/socket", place->directory);
	*state = place;
	return 0;
}

static int
remove_place(void **state)
{
	struct socket_place *place = *state;

	unlink(place->path);
	rmdir(place->directory);
	free(place);
	return 0;
}

static void
what_listens_can_be_connected_to(void **state)
{
	struct socket_place *place = *state;
	int listener = local_socket_listen(place->path, 0660, 1);
	struct stat status;
	int fd;

	assert_true(listener >= 0);
	assert_int_equal(lstat(place->path, &status), 0);
	assert_int_equal(status.st_mode, S_IFSOCK | 0660);
	fd = local_socket_connect(place->path, 1);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(listener, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(local_socket_owner(place->path), getpid());
	close(fd);
	close(listener);
}

static void
a_path_longer_than_an_address_is_reached(void **state)
{
	struct socket_place *place = *state;
	char directory[400];
	int listener, fd;

	snprintf(directory, sizeof(directory), "%s/%0200d", place->directory, 0);
	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(place->path, sizeof(place->path), "%s/socket", directory);
	listener = local_socket_listen(place->path, 0600, 1);
	assert_true(listener >= 0);
	fd = local_socket_connect(place->path, 1);
	assert_true(fd >= 0);
	close(fd);
	close(listener);
	unlink(place->path);
	rmdir(directory);
}

static void
a_stale_socket_is_replaced(void **state)
{
	struct socket_place *place = *state;

	close(local_socket_listen(place->path, 0600, 1));
	assert_int_equal(local_socket_connect(place->path, 1), -ECONNREFUSED);
	assert_int_equal(local_socket_owner(place->path), 0);
	close(local_socket_listen(place->path, 0600, 1));
}

static void
a_socket_in_use_is_not_taken(void **state)
{
	struct socket_place *place = *state;
	int listener = local_socket_listen(place->path, 0600, 1);
	int fd;

	assert_int_equal(local_socket_listen(place->path, 0600, 1), -EADDRINUSE);
	fd = local_socket_connect(place->path, 1); /* the first one still has it */
	assert_true(fd >= 0);
	close(fd);
	close(listener);
}

/* One that is stopped, or that nobody serves. */
static void
a_queue_that_stays_full_is_not_waited_for(void **state)
{
	struct socket_place *place = *state;
	int listener = local_socket_listen(place->path, 0600, 0);
	int queued = local_socket_connect(place->path, 1);

	assert_true(queued >= 0);
	assert_int_equal(local_socket_connect(place->path, 0), -ETIMEDOUT);
	assert_int_equal(local_socket_connect(place->path, 1), -ETIMEDOUT);
	assert_int_equal(local_socket_listen(place->path, 0600, 1), -EADDRINUSE);
	assert_int_equal(local_socket_owner(place->path), -ETIMEDOUT);
	close(queued);
	close(listener);
}

static void
a_file_in_the_place_of_a_socket_is_left_alone(void **state)
{
	struct socket_place *place = *state;
	int fd = open(place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	assert_int_equal(local_socket_listen(place->path, 0600, 1), -EEXIST);
	assert_int_equal(access(place->path, F_OK), 0);
}

static void
a_link_in_the_place_of_a_socket_is_left_alone(void **state)
{
	struct socket_place *place = *state;

	assert_int_equal(symlink("/nonexistent", place->path), 0);
	assert_int_equal(local_socket_listen(place->path, 0600, 1), -EEXIST);
}

static void
where_nothing_is_nobody_listens(void **state)
{
	struct socket_place *place = *state;

	assert_int_equal(local_socket_connect(place->path, 1), -ENOENT);
	assert_int_equal(local_socket_connect("/nonexistent/socket", 1), -ENOENT);
	assert_int_equal(local_socket_listen("/nonexistent/socket", 0600, 1), -ENOENT);
	assert_int_equal(local_socket_connect(place->directory, 1), -ECONNREFUSED);
}

static void
a_path_without_a_name_is_refused(void **state)
{
	(void)state;
	assert_int_equal(local_socket_connect("", 1), -EINVAL);
	assert_int_equal(local_socket_connect("/tmp/", 1), -EINVAL);
}

static void
a_name_longer_than_an_address_is_refused(void **state)
{
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/%0200d", 0);
	assert_int_equal(local_socket_connect(path, 1), -ENAMETOOLONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_listens_can_be_connected_to, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_path_longer_than_an_address_is_reached, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_stale_socket_is_replaced, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_socket_in_use_is_not_taken, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_queue_that_stays_full_is_not_waited_for, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_in_the_place_of_a_socket_is_left_alone, make_place,
	                                        remove_place),
		cmocka_unit_test_setup_teardown(a_link_in_the_place_of_a_socket_is_left_alone, make_place,
	                                        remove_place),
		cmocka_unit_test_setup_teardown(where_nothing_is_nobody_listens, make_place, remove_place),
		cmocka_unit_test(a_path_without_a_name_is_refused),
		cmocka_unit_test(a_name_longer_than_an_address_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
