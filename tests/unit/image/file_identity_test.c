#include "tests/unit/image/elf_fixture.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "image/file_identity.h"

static int
open_in(const struct folder *folder, const char *name)
{
	char path[PATH_MAX];
	int fd = open(path_in(folder, name, path), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct image
image_by_stat(int fd)
{
	struct image image = {.kind = IMAGE_USER};
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	return image;
}

static void
a_copy_is_another_file(void **state)
{
	struct image image;
	int fd, copy;

	write_file(*state, "original", "text");
	write_file(*state, "copy", "text");
	fd = open_in(*state, "original");
	copy = open_in(*state, "copy");
	image = image_by_stat(fd);
	assert_true(file_is_image(fd, &image));
	assert_false(file_is_image(copy, &image));
	close(fd);
	close(copy);
}

static void
an_inode_that_was_given_again_is_another_file(void **state)
{
	struct image image;
	long generation = 0;
	int fd;

	write_file(*state, "file", "text");
	fd = open_in(*state, "file");
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) || generation == 0) {
		close(fd);
		skip_because("the file system of /tmp knows no generations");
	}
	image = image_by_stat(fd);
	image.inode_generation = (uint32_t)generation;
	assert_true(file_is_image(fd, &image));
	image.inode_generation ^= 1;
	assert_false(file_is_image(fd, &image));
	close(fd);
}

/* What a mapping of the file looks like is read with awk, from the maps of a process that runs it. */
static void
identity_line(void *context, const char *line)
{
	struct image *image = context;

	sscanf(line, "%" SCNx32 ":%" SCNx32 " %" SCNu64, &image->device_major, &image->device_minor, &image->inode);
}

static void
a_file_on_overlayfs_is_known_by_its_mapping(void **state)
{
	const struct folder *folder = *state;
	struct image image = {.kind = IMAGE_USER};
	int fd;

	if (!run_in(folder, "mkdir lower upper work merged && cp /bin/sleep lower/ && "
	                    "mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged"))
		skip_because("overlayfs cannot be mounted here");
	each_line(identity_line, &image,
	          "cd %s && { merged/sleep 1 & } && sleep 0.1 && "
	          "awk '/merged.sleep/ { print $4, $5; exit }' /proc/$!/maps",
	          folder->path);
	fd = open_in(folder, "merged/sleep");
	assert_true(run_in(folder, "umount -l merged"));
	assert_true(image.inode != 0);
	assert_true(file_is_image(fd, &image));
	image.inode++;
	assert_false(file_is_image(fd, &image));
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_another_file),
		cmocka_unit_test(an_inode_that_was_given_again_is_another_file),
		cmocka_unit_test(a_file_on_overlayfs_is_known_by_its_mapping),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
