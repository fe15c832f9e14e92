#include "tests/unit/image/nm_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "image/image_file.h"

static int
open_below(const struct folder *folder, const struct image *image)
{
	struct image_file *file;
	char root[PATH_MAX];
	int err = image_file_open_below(path_in(folder, "debug", root), image, &file);

	image_file_close(file);
	return err;
}

/* A program that returns `value`, linked with `flags`. */
static struct image
build_returning(const struct folder *folder, int value, const char *flags, char path[PATH_MAX])
{
	write_file(folder, "program.c", "int answer(void) { return %d; }\nint main(void) { return answer(); }\n",
	           value);
	assert_true(run_in(folder, "gcc -O0 %s -o program program.c", flags));
	return image_of(path_in(folder, "program", path));
}

static void
an_offset_becomes_the_address_that_was_linked(void **state)
{
	char path[PATH_MAX];
	struct image_file *file;
	struct image image;
	struct elf_layout layout;
	uint64_t address, start, end;

	need_tool("gcc");
	need_tool("readelf");
	image = build_returning(*state, 42, "-no-pie", path);
	layout = layout_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	for (size_t i = 0; i < layout.count; i++) {
		assert_int_equal(image_file_address(file, layout.loads[i].offset, &address), 0);
		assert_int_equal(address, layout.loads[i].address);
		assert_int_equal(image_file_segment(file, layout.loads[i].offset + 1, &start, &end), 0);
		assert_int_equal(start, layout.loads[i].offset);
		assert_true(end > start + 1);
	}
	assert_int_equal(image_file_address(file, UINT64_MAX, &address), -ENOENT);
	assert_int_equal(image_file_segment(file, UINT64_MAX, &start, &end), -ENOENT);
	image_file_close(file);
}

static void
a_file_of_another_build_is_refused(void **state)
{
	char path[PATH_MAX];
	struct image sampled;

	need_tool("gcc");
	need_tool("readelf");
	sampled = build_returning(*state, 1, "-Wl,--build-id", path);
	assert_int_equal(sampled.build_id_size, 20);
	assert_int_equal(open_below(*state, &sampled), 0);
	build_returning(*state, 2, "-Wl,--build-id", path);
	assert_int_equal(open_below(*state, &sampled), -DCPI_EBUILDID);
	build_returning(*state, 1, "-Wl,--build-id=none", path);
	assert_int_equal(open_below(*state, &sampled), -DCPI_EBUILDID);
}

static void
without_a_build_id_device_and_inode_decide(void **state)
{
	char path[PATH_MAX];
	struct image image;

	need_tool("gcc");
	need_tool("readelf");
	image = build_returning(*state, 1, "-Wl,--build-id=none", path);
	assert_int_equal(image.build_id_size, 0);
	assert_int_equal(open_below(*state, &image), 0);
	image.inode++;
	assert_int_equal(open_below(*state, &image), -DCPI_EBUILDID);
	image.inode = 0;
	assert_int_equal(open_below(*state, &image), -DCPI_EBUILDID);
	image = image_of(path);
	image.device_minor++;
	assert_int_equal(open_below(*state, &image), -DCPI_EBUILDID);
	image = image_of(path);
	image.deleted = true; /* whatever is there now came later */
	assert_int_equal(open_below(*state, &image), -DCPI_EBUILDID);
}

static void
a_replaced_file_is_read_from_its_debug_file(void **state)
{
	const struct folder *folder = *state;
	struct elf_layout layout;
	struct image sampled;
	struct image_file *file;
	char path[PATH_MAX], root[PATH_MAX], hex[41];
	uint64_t address;

	need_tool("gcc");
	need_tool("objcopy");
	sampled = build_returning(folder, 3, "-g -Wl,--build-id", path);
	layout = layout_of(path);
	for (size_t i = 0; i < 20; i++)
		snprintf(hex + 2 * i, 3, "%02x", sampled.build_id[i]);
	assert_true(run_in(folder,
	                   "mkdir -p debug/.build-id/%.2s && objcopy --only-keep-debug program "
	                   "debug/.build-id/%.2s/%s.debug && rm program",
	                   hex, hex, hex + 2));
	for (int replaced = 0; replaced < 2; replaced++) {
		assert_int_equal(image_file_open_below(path_in(folder, "debug", root), &sampled, &file), 0);
		for (size_t i = 0; i < layout.count; i++) {
			if (!layout.loads[i].executable)
				continue;
			assert_int_equal(image_file_address(file, layout.loads[i].offset, &address), 0);
			assert_int_equal(address, layout.loads[i].address);
		}
		image_file_close(file);
		build_returning(folder, 4, "-Wl,--build-id", path);
	}
}

static void
what_is_no_elf_file_is_damaged(void **state)
{
	char path[PATH_MAX];
	struct image image = {.kind = IMAGE_USER, .path = path, .inode = 1};

	write_file(*state, "text", "#!/bin/sh\nexit 0\n");
	path_in(*state, "text", path);
	assert_int_equal(open_below(*state, &image), -DCPI_EDAMAGED);
	write_file(*state, "empty", "%s", "");
	path_in(*state, "empty", path);
	assert_int_equal(open_below(*state, &image), -DCPI_EDAMAGED);
}

static void
a_pipe_or_a_folder_in_the_place_of_a_file_does_not_block(void **state)
{
	char path[PATH_MAX];
	struct image image = {.kind = IMAGE_USER, .path = path, .inode = 1};

	path_in(*state, "pipe", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_below(*state, &image), -DCPI_EDAMAGED);
	snprintf(path, sizeof(path), "/tmp");
	assert_int_equal(open_below(*state, &image), -DCPI_EDAMAGED);
	snprintf(path, sizeof(path), "/dev/zero");
	assert_int_equal(open_below(*state, &image), -DCPI_EDAMAGED);
}

/* The section headers come last, so that a program is not whole without its last byte. */
static void
a_file_cut_short_is_damaged(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX];
	struct image image;
	struct stat status;

	need_tool("gcc");
	need_tool("readelf");
	image = build_returning(folder, 5, "-g -Wl,--build-id", path);
	assert_int_equal(stat(path, &status), 0);
	for (off_t size = status.st_size - 1; size > 0; size -= 97) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(open_below(folder, &image), -DCPI_EDAMAGED);
	}
}

static void
what_is_not_there_is_not_found(void **state)
{
	struct image image = {.kind = IMAGE_USER, .path = "/nonexistent/program", .inode = 1};

	assert_int_equal(open_below(*state, &image), -ENOENT);
	image.path = "/etc/passwd/program";
	assert_int_equal(open_below(*state, &image), -ENOENT);
	image.path = "//anon";
	assert_int_equal(open_below(*state, &image), -ENOENT);
	image = (struct image){.kind = IMAGE_MODULE, .path = "[ext4]"};
	assert_int_equal(open_below(*state, &image), -ENOENT);
	image = (struct image){.kind = IMAGE_KERNEL, .path = "[kernel]"};
	assert_int_equal(open_below(*state, &image), -ENOENT);
}

static void
a_file_that_may_not_be_read_is_named_so(void **state)
{
	char path[PATH_MAX];
	struct image image;
	int err;

	need_tool("gcc");
	if (geteuid() != 0)
		skip_because("not root, so that another user cannot be played");
	image = build_returning(*state, 6, "", path);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(seteuid(65534), 0);
	err = open_below(*state, &image);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, -EACCES);
}

static struct image
vdso_image(void)
{
	struct image image = {.kind = IMAGE_VDSO, .path = "[vdso]"};
	struct elf_file file;
	int size;

	assert_int_equal(image_file_open_vdso(&file), 0);
	size = elf_file_build_id(&file, image.build_id);
	assert_true(size > 0);
	image.build_id_size = (uint8_t)size;
	elf_file_close(&file);
	return image;
}

static void
the_vdso_names_the_clock(void **state)
{
	struct symbol_table *table;
	struct image_file *file;
	struct image image;
	size_t found = 0;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		skip_because("this kernel maps no vdso");
	image = vdso_image();
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &table), 0);
	for (uint64_t offset = 0; offset < 1 << 16; offset++) {
		const struct symbol *symbol = symbol_table_find(table, offset);

		if (symbol && symbol->name && strstr(symbol->name, "clock_gettime"))
			found++;
	}
	assert_true(found > 0);
	symbol_table_free(table);
	image_file_close(file);
}

static void
the_vdso_of_another_kernel_is_refused(void **state)
{
	struct image image;

	if (!getauxval(AT_SYSINFO_EHDR))
		skip_because("this kernel maps no vdso");
	image = vdso_image();
	image.build_id[0] ^= 1;
	assert_int_equal(open_below(*state, &image), -DCPI_EBUILDID);
	image.build_id_size = 0;
	assert_int_equal(open_below(*state, &image), -ENOENT);
}

/* Split the debug file of a new program off into `debug_folder`, where a link finds it. */
static struct image
build_linked(const struct folder *folder, const char *debug_folder, char path[PATH_MAX], char twin[PATH_MAX])
{
	build_program(folder, "", path, twin);
	assert_true(run_in(folder,
	                   "mkdir -p %s && objcopy --only-keep-debug program %s/link.debug && strip program && "
	                   "objcopy --add-gnu-debuglink=%s/link.debug program",
	                   debug_folder, debug_folder, debug_folder));
	return image_of(path);
}

static void
a_debug_file_is_found_by_its_link(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX], below_root[PATH_MAX];
	const char *const folders[] = {".", ".debug", below_root};
	struct image image;

	need_binutils();
	snprintf(below_root, sizeof(below_root), "debug%s", folder->path);
	for (size_t i = 0; i < 3; i++) {
		image = build_linked(folder, folders[i], path, twin);
		assert_true(compare_with_nm(folder, &image, twin, false) > 3);
	}
}

static void
a_debug_file_that_differs_from_its_link_is_not_used(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_binutils();
	image = build_linked(*state, ".debug", path, twin);
	assert_true(run_in(*state, "printf x >> .debug/link.debug"));
	assert_int_equal(compare_with_nm(*state, &image, twin, true), 0);
}

static void
a_debug_file_is_found_by_build_id(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX], hex[41];
	struct image image;

	need_binutils();
	image = build_program(folder, "", path, twin);
	for (size_t i = 0; i < 20; i++)
		snprintf(hex + 2 * i, 3, "%02x", image.build_id[i]);
	assert_true(run_in(folder,
	                   "mkdir -p debug/.build-id/%.2s && objcopy --only-keep-debug program "
	                   "debug/.build-id/%.2s/%s.debug && strip program",
	                   hex, hex, hex + 2));
	assert_true(compare_with_nm(folder, &image, twin, false) > 3);
	assert_true(run_in(folder, "rm program"));
	assert_true(compare_with_nm(folder, &image, twin, false) > 3);
}

static void
count_line(void *context, const char *line)
{
	(void)line;
	++*(size_t *)context;
}

/* elfutils asks a server through libdebuginfod, which it loads when it first looks for a debug file. */
static void
no_server_is_asked_for_a_debug_file(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;
	size_t loaded = 0;

	need_binutils();
	image = build_program(*state, "", path, twin);
	assert_true(run_in(*state, "strip program"));
	assert_int_equal(setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9/", 1), 0);
	compare_with_nm(*state, &image, twin, true);
	assert_int_equal(unsetenv("DEBUGINFOD_URLS"), 0);
	each_line(count_line, &loaded, "awk '/libdebuginfod|libcurl/' /proc/%d/maps", getpid());
	assert_int_equal(loaded, 0);
}

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
	assert_true(image_file_is_inode(fd, &image));
	assert_false(image_file_is_inode(copy, &image));
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
	assert_true(image_file_is_inode(fd, &image));
	image.inode_generation ^= 1;
	assert_false(image_file_is_inode(fd, &image));
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
	assert_true(image_file_is_inode(fd, &image));
	image.inode++;
	assert_false(image_file_is_inode(fd, &image));
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_becomes_the_address_that_was_linked),
		cmocka_unit_test(a_file_of_another_build_is_refused),
		cmocka_unit_test(without_a_build_id_device_and_inode_decide),
		cmocka_unit_test(a_replaced_file_is_read_from_its_debug_file),
		cmocka_unit_test(what_is_no_elf_file_is_damaged),
		cmocka_unit_test(a_pipe_or_a_folder_in_the_place_of_a_file_does_not_block),
		cmocka_unit_test(a_file_cut_short_is_damaged),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(a_file_that_may_not_be_read_is_named_so),
		cmocka_unit_test(the_vdso_names_the_clock),
		cmocka_unit_test(the_vdso_of_another_kernel_is_refused),
		cmocka_unit_test(a_debug_file_is_found_by_its_link),
		cmocka_unit_test(a_debug_file_that_differs_from_its_link_is_not_used),
		cmocka_unit_test(a_debug_file_is_found_by_build_id),
		cmocka_unit_test(no_server_is_asked_for_a_debug_file),
		cmocka_unit_test(a_copy_is_another_file),
		cmocka_unit_test(an_inode_that_was_given_again_is_another_file),
		cmocka_unit_test(a_file_on_overlayfs_is_known_by_its_mapping),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
