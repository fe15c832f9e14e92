#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "collectord/file_ids.h"
#include "collectord/helper.h"
#include "process/build_id.h"
#include "tests/unit/process/fake.h"

struct file_ids_site {
	struct fake fake;
	struct file_ids *ids;
};

static int
setup(void **state)
{
	struct file_ids_site *site = calloc(1, sizeof(*site));

	fake_init(&site->fake);
	site->ids = file_ids_new(NULL);
	assert_non_null(site->ids);
	*state = site;
	return 0;
}

static int
teardown(void **state)
{
	struct file_ids_site *site = *state;

	file_ids_free(site->ids);
	fake_fini(&site->fake);
	free(site);
	return 0;
}

/* Over what is there, if anything is: the inode stays. */
static void
copy_file(const char *from, const char *to)
{
	char buffer[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got;

	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)got), got);
	close(in);
	close(out);
}

static struct image
image_of(const char *path)
{
	struct image image = {.kind = IMAGE_USER, .path = path};
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	return image;
}

static void
ask(const struct file_ids_site *site, const struct image *image, uint32_t pid)
{
	const struct sampled_file file = {.image = image, .place.pid = pid};

	file_ids_ask(site->ids, &file);
	file_ids_wait(site->ids, 5 * SECOND_NS);
}

static void
assert_build_of(const struct image *image, const char *path)
{
	uint8_t expected[BUILD_ID_SIZE_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC), size = build_id_from_file(fd, expected);

	close(fd);
	assert_true(size > 0);
	assert_int_equal(image->build_id_size, size);
	assert_memory_equal(image->build_id, expected, (size_t)size);
}

static void
a_file_that_got_samples_tells_its_build_id(void **state)
{
	struct image image = image_of("/usr/bin/sleep"), other = image;
	struct file_ids_stats stats;

	assert_int_equal(file_ids_complete(((struct file_ids_site *)*state)->ids, &other), FILE_WAITS);
	ask(*state, &image, 0);
	assert_int_equal(file_ids_complete(((struct file_ids_site *)*state)->ids, &image), FILE_KNOWN);
	assert_true(image.is_roots);
	assert_build_of(&image, "/usr/bin/sleep");
	file_ids_stats(((struct file_ids_site *)*state)->ids, &stats);
	assert_int_equal(stats.read, 1);
	assert_int_equal(stats.unread + stats.waiting, 0);
}

/* A file that was made just now may be made again in a moment; what is days old costs no look at each start. */
static void
an_old_file_is_not_looked_at_again_at_once(void **state)
{
	const struct file_ids_site *site = *state;
	char page[4096] = "no ELF file", path[PATH_MAX];
	struct image old = image_of("/usr/bin/sleep"), young;
	struct file_ids_stats stats;

	fake_bytes(&site->fake, "data", page, sizeof(page));
	young = image_of(fake_path(&site->fake, "data", path));
	for (int i = 0; i < 3; i++)
		ask(site, &old, 0);
	file_ids_stats(site->ids, &stats);
	assert_int_equal(stats.looks, 1);
	for (int i = 0; i < 3; i++) {
		ask(site, &young, 0);
		usleep(100000); /* far more than a sixty-fourth of its age */
	}
	file_ids_stats(site->ids, &stats);
	assert_int_equal(stats.looks, 4);
}

static void
another_file_at_its_path_is_not_taken_for_it(void **state)
{
	struct image image = image_of("/usr/bin/sleep");
	struct file_ids_stats stats;

	image.inode++;
	ask(*state, &image, 0);
	assert_int_equal(file_ids_complete(((struct file_ids_site *)*state)->ids, &image), FILE_UNREAD);
	assert_int_equal(image.build_id_size, 0);
	file_ids_stats(((struct file_ids_site *)*state)->ids, &stats);
	assert_int_equal(stats.unread, 1);
}

static void
a_file_without_a_build_id_has_none(void **state)
{
	const struct file_ids_site *site = *state;
	char path[PATH_MAX], page[4096] = "no ELF file";
	struct image image;

	fake_bytes(&site->fake, "data", page, sizeof(page));
	image = image_of(fake_path(&site->fake, "data", path));
	ask(site, &image, 0);
	assert_int_equal(file_ids_complete(site->ids, &image), FILE_HAS_NONE);
}

static void
a_program_that_was_deleted_is_read_through_its_process(void **state)
{
	const struct file_ids_site *site = *state;
	const struct timespec moment = {.tv_nsec = 10000000};
	char path[PATH_MAX], exe[64], target[PATH_MAX];
	struct image image;
	pid_t child;

	copy_file("/usr/bin/sleep", fake_path(&site->fake, "program", path));
	image = image_of(path);
	child = fork();
	if (child == 0) {
		execl(path, path, "60", (char *)NULL);
		_exit(127);
	}
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)child);
	for (ssize_t length = 0; length != (ssize_t)strlen(path) || memcmp(target, path, (size_t)length) != 0;) {
		length = readlink(exe, target, sizeof(target));
		nanosleep(&moment, NULL);
	}
	unlink(path);
	ask(site, &image, (uint32_t)child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(file_ids_complete(site->ids, &image), FILE_KNOWN);
	assert_build_of(&image, "/usr/bin/sleep");
}

static void
a_file_that_was_written_to_in_place_is_another_image(void **state)
{
	const struct file_ids_site *site = *state;
	struct image image, old, changed;
	uint32_t content = 0;
	char path[PATH_MAX];

	copy_file("/usr/bin/sleep", fake_path(&site->fake, "program", path));
	image = old = image_of(path);
	ask(site, &image, 0);
	ask(site, &image, 0); /* mapped again */
	assert_false(file_ids_take_change(site->ids, &changed, &content));
	copy_file("/usr/bin/cat", path);
	ask(site, &image, 0);
	assert_true(file_ids_take_change(site->ids, &changed, &content));
	assert_int_equal(content, 1);
	assert_int_equal(changed.inode, image.inode);
	image.content = content;
	assert_int_equal(file_ids_complete(site->ids, &image), FILE_KNOWN);
	assert_build_of(&image, "/usr/bin/cat");
	assert_int_equal(file_ids_complete(site->ids, &old), FILE_KNOWN);
	assert_build_of(&old, "/usr/bin/sleep");
}

static void
a_file_that_was_only_touched_is_the_same(void **state)
{
	const struct file_ids_site *site = *state;
	struct image image, changed;
	uint32_t content;
	char path[PATH_MAX];

	copy_file("/usr/bin/sleep", fake_path(&site->fake, "program", path));
	image = image_of(path);
	ask(site, &image, 0);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	ask(site, &image, 0);
	assert_false(file_ids_take_change(site->ids, &changed, &content));
}

/* 256 changes wait until they are taken. */
static void
a_change_that_had_no_room_is_met_when_the_file_is_asked_about_again(void **state)
{
	const struct file_ids_site *site = *state;
	struct image image, changed;
	uint32_t content, taken = 0;
	char path[PATH_MAX], name[32];

	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < 257; i++) {
			snprintf(name, sizeof(name), "%u", i);
			copy_file(pass ? "/usr/bin/cat" : "/usr/bin/sleep", fake_path(&site->fake, name, path));
			image = image_of(path);
			ask(site, &image, 0);
		}
	while (file_ids_take_change(site->ids, &changed, &content)) {
		assert_int_not_equal(changed.inode, image.inode);
		taken++;
	}
	assert_int_equal(taken, 256);
	ask(site, &image, 0);
	assert_true(file_ids_take_change(site->ids, &changed, &content));
	assert_int_equal(changed.inode, image.inode);
	assert_int_equal(content, 1);
	assert_false(file_ids_take_change(site->ids, &changed, &content));
}

/* ---- the child ---- */

/* Answers with what it is asked, but hangs when that is "hang". */
static void
echo(int socket, void *shared)
{
	char packet[64];
	size_t size;
	int fd;

	(void)shared;
	while ((size = helper_next(socket, packet, sizeof(packet), &fd)) > 0) {
		if (size == 4 && memcmp(packet, "hang", 4) == 0)
			for (;;)
				pause();
		if (!helper_answer(socket, packet, size, size == 2 ? STDIN_FILENO : fd))
			return;
		if (fd >= 0)
			close(fd);
	}
}

static void
who_does_not_answer_is_left_behind_and_the_next_is_answered(void **state)
{
	struct helper helper;
	char packet[64];
	pid_t first;
	int fd;

	(void)state;
	helper_init(&helper, echo);
	assert_int_equal(helper_send(&helper, "one", 3, -1), 0);
	assert_int_equal(helper_receive(&helper, packet, sizeof(packet), &fd, -1, monotonic_ns() + 5 * SECOND_NS), 3);
	assert_int_equal(fd, -1);
	first = helper.pid;
	assert_int_equal(helper_send(&helper, "hang", 4, -1), 0);
	assert_int_equal(helper_receive(&helper, packet, sizeof(packet), NULL, -1, monotonic_ns() + SECOND_NS / 10),
	                 -ETIMEDOUT);
	assert_int_equal(helper.pid, 0);
	assert_int_equal(helper_send(&helper, "fd", 2, -1), 0);
	assert_int_not_equal(helper.pid, first);
	assert_int_equal(helper_receive(&helper, packet, sizeof(packet), &fd, -1, monotonic_ns() + 5 * SECOND_NS), 2);
	assert_true(fd >= 0);
	close(fd);
	helper_fini(&helper);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
	assert_int_equal(errno, ECHILD);
}

static void
a_descriptor_goes_to_the_child_and_stays_ours(void **state)
{
	const int own = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct helper helper;
	struct stat sent, received;
	char packet[64];
	int fd;

	(void)state;
	helper_init(&helper, echo);
	assert_int_equal(helper_send(&helper, "one", 3, own), 0);
	assert_int_equal(helper_receive(&helper, packet, sizeof(packet), &fd, -1, monotonic_ns() + 5 * SECOND_NS), 3);
	assert_true(fd >= 0 && fd != own);
	assert_int_equal(fstat(own, &sent) + fstat(fd, &received), 0);
	assert_int_equal(received.st_rdev, sent.st_rdev);
	close(fd);
	close(own);
	helper_fini(&helper);
}

static void
a_child_that_died_is_an_error_and_the_next_is_answered(void **state)
{
	struct helper helper;
	char packet[64];

	(void)state;
	helper_init(&helper, echo);
	assert_int_equal(helper_start(&helper), 0);
	assert_int_equal(kill(helper.pid, SIGKILL), 0);
	while (helper_send(&helper, "one", 3, -1) == 0 &&
	       helper_receive(&helper, packet, sizeof(packet), NULL, -1, monotonic_ns() + 5 * SECOND_NS) == 3)
		;
	assert_int_equal(helper_send(&helper, "one", 3, -1), 0);
	assert_int_equal(helper_receive(&helper, packet, sizeof(packet), NULL, -1, monotonic_ns() + 5 * SECOND_NS), 3);
	helper_fini(&helper);
}

#define SITE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(a_file_that_got_samples_tells_its_build_id),
		SITE_TEST(an_old_file_is_not_looked_at_again_at_once),
		SITE_TEST(another_file_at_its_path_is_not_taken_for_it),
		SITE_TEST(a_file_without_a_build_id_has_none),
		SITE_TEST(a_program_that_was_deleted_is_read_through_its_process),
		SITE_TEST(a_file_that_was_written_to_in_place_is_another_image),
		SITE_TEST(a_file_that_was_only_touched_is_the_same),
		SITE_TEST(a_change_that_had_no_room_is_met_when_the_file_is_asked_about_again),
		cmocka_unit_test(who_does_not_answer_is_left_behind_and_the_next_is_answered),
		cmocka_unit_test(a_descriptor_goes_to_the_child_and_stays_ours),
		cmocka_unit_test(a_child_that_died_is_an_error_and_the_next_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
