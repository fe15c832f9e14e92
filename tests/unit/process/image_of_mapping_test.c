#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/image_of_mapping.h"

static const struct vdso_identity vdso = {.build_id = {0xdd}, .build_id_size = 20};

static struct image
image_of(const char *path, bool with_build_id, char buffer[PATH_MAX])
{
	struct record_mmap mmap = {.start = 0x7f0000000000, .length = 0x1000, .path = path};
	struct image image;

	if (with_build_id) {
		mmap.build_id[0] = 1;
		mmap.build_id_size = 20;
	} else {
		mmap.device_major = 8;
		mmap.device_minor = 1;
		mmap.inode = 5;
		mmap.inode_generation = 6;
	}
	image_of_mapping(&mmap, &vdso, &image, buffer);
	return image;
}

static void
assert_anonymous(const char *path, const char *name)
{
	char buffer[PATH_MAX];
	struct image image = image_of(path, false, buffer);

	assert_int_equal(image.kind, IMAGE_ANON);
	assert_string_equal(image.path, name);
	assert_int_equal(image.inode, 0);
	assert_int_equal(image.build_id_size, 0);
	assert_false(image.deleted);
}

static void
memory_without_a_file_has_one_name_a_kind(void **state)
{
	(void)state;
	assert_anonymous("", "[anon]");
	assert_anonymous("//anon", "[anon]");
	assert_anonymous("[anon:scudo:primary]", "[anon]");
	assert_anonymous("[anon_shmem:jit]", "[anon]");
	assert_anonymous("/dev/zero (deleted)", "[anon]");
	assert_anonymous("/dev/zero", "[anon]");
	assert_anonymous("/anon_hugepage (deleted)", "[anon]");
	assert_anonymous("[heap]", "[heap]");
	assert_anonymous("[stack]", "[stack]");
	assert_anonymous("[stack:1234]", "[stack]");
	assert_anonymous("/SYSV0000162e (deleted)", "[shm]");
	assert_anonymous("anon_inode:[perf_event]", "[anon_inode]");
	assert_anonymous("anon_inode:kvm-vcpu:0", "[anon_inode]");
	assert_anonymous("[uprobes]", "[uprobes]");
	assert_anonymous("/memfd:jit (deleted)", "memfd:jit");
}

static void
assert_file(const char *path, bool with_build_id, const char *name, bool deleted)
{
	char buffer[PATH_MAX];
	struct image image = image_of(path, with_build_id, buffer);

	assert_int_equal(image.kind, IMAGE_USER);
	assert_string_equal(image.path, name);
	assert_int_equal(image.deleted, deleted);
	assert_int_equal(image.build_id_size, with_build_id ? 20 : 0);
	assert_int_equal(image.inode, with_build_id ? 0 : 5);
}

static void
a_file_is_known_by_its_build_id_or_its_inode(void **state)
{
	(void)state;
	assert_file("/usr/bin/gzip", true, "/usr/bin/gzip", false);
	assert_file("/usr/bin/gzip", false, "/usr/bin/gzip", false);
	assert_file("/memfd:runc (deleted)", true, "/memfd:runc", true);
	assert_file("//toolong", true, "//toolong", false);
}

static void
a_deleted_file_keeps_its_name(void **state)
{
	(void)state;
	assert_file("/usr/bin/gzip (deleted)", true, "/usr/bin/gzip", true);
	assert_file("/a (deleted) (deleted)", false, "/a (deleted)", true);
	assert_file("/a (deleted)b", false, "/a (deleted)b", false);
	assert_file(" (deleted)x", false, " (deleted)x", false);
}

/* Names that only resemble the kernel's are a user's. */
static void
files_with_odd_names_are_files(void **state)
{
	(void)state;
	assert_file("/SYSV0000162e", false, "/SYSV0000162e", false);
	assert_file("/SYSV0000162e0 (deleted)", false, "/SYSV0000162e0", true);
	assert_file("/SYSV (deleted)", false, "/SYSV", true);
	assert_file("/anon_hugepage", false, "/anon_hugepage", false);
	assert_file("/[heap]", false, "/[heap]", false);
	assert_file("/dev/zeroes", false, "/dev/zeroes", false);
}

static void
the_vdso_has_the_kernels_build_id_but_not_below_4_gib(void **state)
{
	struct record_mmap mmap = {.start = UINT64_C(1) << 32, .length = 0x2000, .path = "[vdso]"};
	char buffer[PATH_MAX];
	struct image image;

	(void)state;
	image_of_mapping(&mmap, &vdso, &image, buffer);
	assert_int_equal(image.kind, IMAGE_VDSO);
	assert_string_equal(image.path, "[vdso]");
	assert_int_equal(image.build_id[0], 0xdd);
	mmap.start = 0xf7fc0000;
	image_of_mapping(&mmap, &vdso, &image, buffer);
	assert_int_equal(image.kind, IMAGE_VDSO);
	assert_string_equal(image.path, "[vdso32]");
	assert_int_equal(image.build_id_size, 0);
}

static void
a_path_too_long_is_cut(void **state)
{
	char *path = malloc(3 * PATH_MAX), buffer[PATH_MAX];
	struct image image;

	(void)state;
	memset(path, 'x', 3 * PATH_MAX);
	path[0] = '/';
	memcpy(path + 3 * PATH_MAX - 11, " (deleted)", 11);
	image = image_of(path, false, buffer);
	assert_int_equal(strlen(image.path), PATH_MAX - 1);
	assert_true(image.deleted);
	free(path);
}

/* The vdso is written to a file and an independent reader is asked. */
static void
readelf_agrees_on_this_kernels_vdso(void **state)
{
	struct vdso_identity found;
	char expected[64] = "", text[64] = "", line[256], path[] = "/tmp/dcpi-vdso-XXXXXX";
	unsigned long long start = 0, end = 0;
	FILE *maps = fopen("/proc/self/maps", "re"), *readelf;
	int fd;

	(void)state;
	if (access("/usr/bin/readelf", X_OK) != 0)
		skip_because("readelf is not installed");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%llx-%llx", &start, &end);
	fclose(maps);
	if (!start)
		skip_because("this kernel maps no vdso");
	fd = mkstemp(path);
	assert_int_equal(write(fd, (const void *)(uintptr_t)start, end - start), end - start);
	close(fd);
	snprintf(line, sizeof(line), "readelf -n %s", path);
	readelf = popen(line, "r");
	while (fgets(line, sizeof(line), readelf))
		sscanf(line, " Build ID: %63[0-9a-f]", expected);
	pclose(readelf);
	unlink(path);
	vdso_identity_read(&found);
	for (int i = 0; i < found.build_id_size; i++)
		snprintf(text + i * 2, 3, "%02x", found.build_id[i]);
	assert_string_equal(text, expected);
	assert_int_not_equal(found.build_id_size, 0);
}

/* As map_image() asks: `inode` 0 is what a kernel says that tells build-ids. */
static struct image
memory_file_of(const char *path, uint64_t inode, bool with_build_id, char buffer[PATH_MAX])
{
	struct record_mmap mmap = {.start = 0x7f0000000000, .length = 0x1000, .path = path, .inode = inode};
	struct image image;

	mmap.build_id_size = with_build_id ? 20 : 0;
	image_of_mapping(&mmap, &vdso, &image, buffer);
	image_of_memory_file(&mmap, &image);
	return image;
}

static void
memory_with_a_name_is_a_file_until_it_has_no_build_id(void **state)
{
	char buffer[PATH_MAX];
	struct image image = memory_file_of("/memfd:code (deleted)", 5, false, buffer);

	(void)state;
	assert_int_equal(image.kind, IMAGE_USER);
	assert_string_equal(image.path, "/memfd:code");
	assert_int_equal(image.inode, 5);
	assert_true(image.deleted);
	assert_true(image_is_memory_file(&image));
	image_make_memory(&image);
	assert_int_equal(image.kind, IMAGE_ANON);
	assert_string_equal(image.path, "memfd:code");
	assert_int_equal(image.inode, 0);
	assert_false(image.deleted);
	assert_false(image_is_memory_file(&image));
}

static void
other_memory_is_no_file(void **state)
{
	static const char *const paths[] = {"//anon", "[heap]", "/SYSV0000162e (deleted)", "/dev/zero (deleted)"};
	char buffer[PATH_MAX];
	struct image image;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		image = memory_file_of(paths[i], 5, false, buffer);
		assert_int_equal(image.kind, IMAGE_ANON);
		assert_false(image_is_memory_file(&image));
	}
	image = memory_file_of("/memfd:code (deleted)", 0, false, buffer);
	assert_int_equal(image.kind, IMAGE_ANON);
	assert_string_equal(image.path, "memfd:code");
}

static void
a_file_is_no_memory(void **state)
{
	char buffer[PATH_MAX];
	struct image image = memory_file_of("/bin/app", 5, false, buffer);

	(void)state;
	assert_int_equal(image.kind, IMAGE_USER);
	assert_string_equal(image.path, "/bin/app");
	assert_false(image.deleted);
	assert_false(image_is_memory_file(&image));
	image = memory_file_of("/memfd:program (deleted)", 0, true, buffer);
	assert_int_equal(image.kind, IMAGE_USER);
	assert_string_equal(image.path, "/memfd:program");
	assert_false(image_is_memory_file(&image)); /* it has a build-id */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_without_a_file_has_one_name_a_kind),
		cmocka_unit_test(a_file_is_known_by_its_build_id_or_its_inode),
		cmocka_unit_test(a_deleted_file_keeps_its_name),
		cmocka_unit_test(files_with_odd_names_are_files),
		cmocka_unit_test(the_vdso_has_the_kernels_build_id_but_not_below_4_gib),
		cmocka_unit_test(a_path_too_long_is_cut),
		cmocka_unit_test(readelf_agrees_on_this_kernels_vdso),
		cmocka_unit_test(memory_with_a_name_is_a_file_until_it_has_no_build_id),
		cmocka_unit_test(other_memory_is_no_file),
		cmocka_unit_test(a_file_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
