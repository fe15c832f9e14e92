#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/image_table.h"

/* ---- the image of a mapping ---- */

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

/* ---- the table ---- */

static struct image_table *
table_of(void **state)
{
	return *state;
}

static int
setup(void **state)
{
	*state = image_table_new();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	image_table_free(*state);
	return 0;
}

static struct image
with_build_id(const char *path, uint8_t first)
{
	return (struct image){.kind = IMAGE_USER, .path = path, .build_id = {first, 2, 3}, .build_id_size = 20};
}

static struct image
with_inode(const char *path, uint64_t inode, uint64_t generation)
{
	return (struct image){.kind = IMAGE_USER,
	                      .path = path,
	                      .device_major = 8,
	                      .device_minor = 1,
	                      .inode = inode,
	                      .inode_generation = generation};
}

static uint32_t
intern(void **state, struct image image)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(image_table_intern(table_of(state), &image, &number), 0);
	return number;
}

static void
numbers_count_from_zero(void **state)
{
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, with_build_id("/bin/b", 2)), 1);
	assert_int_equal(intern(state, with_inode("/bin/c", 3, 0)), 2);
	assert_int_equal(image_table_count(table_of(state)), 3);
}

static void
the_build_id_decides_whatever_the_path(void **state)
{
	struct image copy = with_build_id("/container/bin/a", 1);

	copy.inode = 99;
	copy.deleted = true;
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, copy), 0);
	assert_string_equal(image_table_get(table_of(state), 0)->path, "/bin/a");
}

static void
same_path_with_a_new_build_is_a_new_image(void **state)
{
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, with_build_id("/bin/a", 2)), 1);
}

static void
a_shorter_build_id_is_another_build_id(void **state)
{
	struct image shorter = with_build_id("/bin/a", 1);

	shorter.build_id_size = 16;
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, shorter), 1);
}

static void
without_a_build_id_the_inode_decides(void **state)
{
	struct image other_device = with_inode("/bin/a", 5, 1);

	other_device.device_minor = 2;
	assert_int_equal(intern(state, with_inode("/bin/a", 5, 1)), 0);
	assert_int_equal(intern(state, with_inode("/bin/renamed", 5, 1)), 0);
	assert_int_equal(intern(state, with_inode("/bin/a", 5, 2)), 1); /* the inode's number was used again */
	assert_int_equal(intern(state, with_inode("/bin/a", 6, 1)), 2);
	assert_int_equal(intern(state, other_device), 3);
}

static void
what_is_no_file_is_known_by_kind_and_name(void **state)
{
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[anon]"}), 0);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[heap]"}), 1);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[anon]"}), 0);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_MODULE, .path = "[anon]"}), 2);
}

static void
an_image_stays_where_it_is_while_others_come(void **state)
{
	char path[] = "/bin/first";
	const struct image *first;

	intern(state, with_inode(path, 1, 0));
	memset(path, 'x', sizeof(path) - 1);
	first = image_table_get(table_of(state), 0);
	for (uint64_t inode = 2; inode <= 10000; inode++)
		assert_int_equal(intern(state, with_inode("/bin/more", inode, 0)), inode - 1);
	assert_ptr_equal(image_table_get(table_of(state), 0), first);
	assert_string_equal(first->path, "/bin/first");
	assert_int_equal(first->inode, 1);
}

/* Nobody takes what it holds: the database cannot be written. */
static void
a_table_that_has_its_bytes_knows_what_it_has_and_takes_nothing_new(void **state)
{
	struct image_table *table = table_of(state);
	struct image image;
	uint32_t number, count;
	uint64_t inode = 1;
	int err;

	do {
		image = with_inode("/a/path/of/no/more/than/a/few/dozen/bytes", inode++, 0);
		err = image_table_intern(table, &image, &number);
	} while (!err && !image_table_is_full(table));
	assert_int_equal(err, -ENOSPC);
	assert_true(image_table_is_full(table));
	assert_true(image_table_bytes(table) <= IMAGE_TABLE_BYTES_MAX);
	assert_true(image_table_bytes(table) > IMAGE_TABLE_BYTES_MAX / 10 * 9);
	count = image_table_count(table);
	assert_int_equal(intern(state, with_inode("", 2, 0)), 1);
	image = with_inode("/b", inode, 0); /* shorter than what had no room */
	assert_int_equal(image_table_intern(table, &image, &number), -ENOSPC);
	assert_int_equal(image_table_count(table), count);
}

static void
every_cause_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	assert_string_equal(unknown_cause_name(UNKNOWN_PROCESS), "no-process");
	assert_string_equal(unknown_cause_name(UNKNOWN_MEMORY), "no-memory");
	assert_string_equal(unknown_cause_text(UNKNOWN_GUEST), "taken in a virtual machine's guest");
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		assert_non_null(unknown_cause_name(cause));
		assert_non_null(unknown_cause_text(cause));
	}
}

static void
a_cause_of_a_newer_version_is_other(void **state)
{
	(void)state;
	assert_string_equal(unknown_cause_name(UNKNOWN_CAUSE_COUNT), "other");
	assert_string_equal(unknown_cause_name(~0u), "other");
	assert_non_null(unknown_cause_text(UNKNOWN_CAUSE_COUNT));
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
		cmocka_unit_test_setup_teardown(numbers_count_from_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(the_build_id_decides_whatever_the_path, setup, teardown),
		cmocka_unit_test_setup_teardown(same_path_with_a_new_build_is_a_new_image, setup, teardown),
		cmocka_unit_test_setup_teardown(a_shorter_build_id_is_another_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_build_id_the_inode_decides, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_known_by_kind_and_name, setup, teardown),
		cmocka_unit_test_setup_teardown(an_image_stays_where_it_is_while_others_come, setup, teardown),
		cmocka_unit_test_setup_teardown(a_table_that_has_its_bytes_knows_what_it_has_and_takes_nothing_new,
	                                        setup, teardown),
		cmocka_unit_test(every_cause_has_a_name_and_a_sentence),
		cmocka_unit_test(a_cause_of_a_newer_version_is_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
