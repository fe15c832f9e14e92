#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/build_id.h"

/* One note of 4-byte padding, appended at *size. */
static void
put_note(uint8_t *data, size_t *size, uint32_t type, const char *owner, const void *content, uint32_t content_size)
{
	Elf64_Nhdr header = {(uint32_t)strlen(owner) + 1, content_size, type};

	memcpy(data + *size, &header, sizeof(header));
	*size += sizeof(header);
	memcpy(data + *size, owner, header.n_namesz);
	*size += (header.n_namesz + 3) & ~3u;
	memcpy(data + *size, content, content_size);
	*size += (content_size + 3) & ~3u;
}

static const uint8_t id20[20] = {0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

/* An ELF file of 64 KiB and more: a program header for nothing, one for notes at `notes_offset`. */
static size_t
put_elf64(uint8_t *file, uint64_t notes_offset, const uint8_t *notes, size_t notes_size)
{
	Elf64_Ehdr header = {.e_phoff = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
	Elf64_Phdr segments[2] = {{.p_type = PT_LOAD, .p_filesz = 100},
	                          {.p_type = PT_NOTE, .p_offset = notes_offset, .p_filesz = notes_size}};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
	memcpy(file + notes_offset, notes, notes_size);
	return notes_offset + notes_size;
}

static int
file_with(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static void
assert_build_id(const uint8_t *elf, size_t size, int expected)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	int fd = file_with(elf, size);

	assert_int_equal(build_id_from_file(fd, found), expected);
	if (expected > 0)
		assert_memory_equal(found, id20, (size_t)expected);
	assert_int_equal(build_id_from_memory(elf, size, found), expected);
	close(fd);
}

static void
the_build_id_is_found_among_other_notes(void **state)
{
	uint8_t notes[256] = {0}, found[BUILD_ID_SIZE_MAX];
	size_t size = 0;

	(void)state;
	put_note(notes, &size, NT_GNU_BUILD_ID, "Go", "0123456789", 10); /* another owner's type 3 */
	put_note(notes, &size, NT_GNU_ABI_TAG, "GNU", "0123456789abcdef", 16);
	put_note(notes, &size, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	assert_int_equal(build_id_from_notes(notes, size, found), 20);
	assert_memory_equal(found, id20, 20);
}

static void
short_build_ids_keep_their_size(void **state)
{
	(void)state;
	for (uint32_t length = 1; length <= 20; length++) {
		uint8_t notes[64] = {0}, found[BUILD_ID_SIZE_MAX];
		size_t size = 0;

		put_note(notes, &size, NT_GNU_BUILD_ID, "GNU", id20, length);
		assert_int_equal(build_id_from_notes(notes, size, found), length);
		assert_memory_equal(found, id20, length);
	}
}

static void
a_build_id_too_long_or_empty_is_none(void **state)
{
	uint8_t notes[64] = {0}, found[BUILD_ID_SIZE_MAX], long_id[21] = {1};
	size_t size = 0;

	(void)state;
	put_note(notes, &size, NT_GNU_BUILD_ID, "GNU", long_id, sizeof(long_id));
	assert_int_equal(build_id_from_notes(notes, size, found), -ENOENT);
	size = 0;
	put_note(notes, &size, NT_GNU_BUILD_ID, "GNU", "", 0);
	assert_int_equal(build_id_from_notes(notes, size, found), -ENOENT);
}

static void
notes_that_are_cut_short_hold_nothing(void **state)
{
	uint8_t notes[64] = {0}, found[BUILD_ID_SIZE_MAX];
	size_t size = 0;

	(void)state;
	put_note(notes, &size, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(build_id_from_notes(notes, cut, found), -ENOENT);
	assert_int_equal(build_id_from_notes(NULL, 0, found), -ENOENT);
}

static void
sizes_that_overflow_end_the_search(void **state)
{
	uint8_t notes[64] = {0}, found[BUILD_ID_SIZE_MAX];
	Elf64_Nhdr hostile = {UINT32_MAX, UINT32_MAX, NT_GNU_BUILD_ID};

	(void)state;
	memcpy(notes, &hostile, sizeof(hostile));
	assert_int_equal(build_id_from_notes(notes, sizeof(notes), found), -ENOENT);
}

static void
a_file_of_either_class_is_read(void **state)
{
	uint8_t file[512] = {0}, notes[64] = {0};
	Elf32_Ehdr header = {.e_phoff = sizeof(header), .e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 1};
	Elf32_Phdr segment = {.p_type = PT_NOTE, .p_offset = 200};
	size_t notes_size = 0, size;

	(void)state;
	put_note(notes, &notes_size, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	size = put_elf64(file, 300, notes, notes_size);
	assert_build_id(file, size, 20);

	memset(file, 0, sizeof(file));
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	segment.p_filesz = (uint32_t)notes_size;
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &segment, sizeof(segment));
	memcpy(file + 200, notes, notes_size);
	assert_build_id(file, 200 + notes_size, 20);
}

static void
notes_anywhere_in_the_file_are_found(void **state)
{
	static uint8_t file[1 << 20];
	static const uint64_t offsets[] = {4090, 4096, 8000, 70000, 1000000};
	uint8_t notes[64] = {0};
	size_t notes_size = 0, size;

	(void)state;
	put_note(notes, &notes_size, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		size = put_elf64(file, offsets[i], notes, notes_size);
		assert_build_id(file, size, 20);
	}
}

static void
what_is_no_elf_file_has_none(void **state)
{
	uint8_t file[512] = {0}, notes[64] = {0};
	size_t notes_size = 0, size;

	(void)state;
	put_note(notes, &notes_size, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	size = put_elf64(file, 300, notes, notes_size);
	file[EI_DATA] = ELFDATA2MSB; /* another byte order */
	assert_build_id(file, size, -ENOENT);
	file[EI_DATA] = ELFDATA2LSB;
	file[EI_CLASS] = 7;
	assert_build_id(file, size, -ENOENT);
	file[EI_CLASS] = ELFCLASS64;
	for (size_t cut = 0; cut < size; cut++)
		assert_build_id(file, cut, -ENOENT);
	assert_build_id((const uint8_t *)"#!/bin/sh\n", 10, -ENOENT);
	assert_build_id(file, size, 20);
}

static void
no_more_than_64_kib_of_a_file_are_read(void **state)
{
	size_t size = 4 << 20, used;
	uint8_t *file = calloc(1, size), notes[64] = {0}, found[BUILD_ID_SIZE_MAX];
	Elf64_Ehdr header;
	int fd;

	(void)state;
	assert_non_null(file);
	/* 60000 segments of nothing: 3.3 MB of program headers, a build-id behind the last of them. */
	put_elf64(file, 1000, notes, 0);
	memcpy(&header, file, sizeof(header));
	header.e_phnum = 60000;
	memcpy(file, &header, sizeof(header));
	used = 0;
	put_note(notes, &used, NT_GNU_BUILD_ID, "GNU", id20, sizeof(id20));
	((Elf64_Phdr *)(file + sizeof(header)))[1].p_type = PT_NULL;
	((Elf64_Phdr *)(file + sizeof(header)))[59999] =
		(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = size - 64, .p_filesz = used};
	memcpy(file + size - 64, notes, used);
	fd = file_with(file, size);
	assert_int_equal(build_id_from_file(fd, found), -ENOENT);
	assert_int_equal(build_id_from_memory(file, size, found), 20); /* it is there */
	close(fd);
	free(file);
}

static void
a_file_that_cannot_be_read_says_why(void **state)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	int fd = open("/", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(build_id_from_file(fd, found), -EISDIR);
	close(fd);
	assert_int_equal(build_id_from_file(-1, found), -EBADF);
}

/* An independent reader is asked about this very program. */
static void
readelf_agrees(void **state)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	char text[2 * BUILD_ID_SIZE_MAX + 1] = "", line[256], expected[64] = "";
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), size;
	FILE *readelf;

	(void)state;
	if (access("/usr/bin/readelf", X_OK) != 0)
		skip_because("readelf is not installed");
	size = build_id_from_file(fd, found);
	close(fd);
	snprintf(line, sizeof(line), "readelf -n /proc/%d/exe", getpid());
	readelf = popen(line, "r");
	assert_non_null(readelf);
	while (fgets(line, sizeof(line), readelf))
		sscanf(line, " Build ID: %63[0-9a-f]", expected);
	pclose(readelf);
	for (int i = 0; i < size; i++)
		snprintf(text + i * 2, 3, "%02x", found[i]);
	assert_int_equal(size > 0 ? 1 : 0, expected[0] ? 1 : 0);
	assert_string_equal(text, expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_is_found_among_other_notes),
		cmocka_unit_test(short_build_ids_keep_their_size),
		cmocka_unit_test(a_build_id_too_long_or_empty_is_none),
		cmocka_unit_test(notes_that_are_cut_short_hold_nothing),
		cmocka_unit_test(sizes_that_overflow_end_the_search),
		cmocka_unit_test(a_file_of_either_class_is_read),
		cmocka_unit_test(notes_anywhere_in_the_file_are_found),
		cmocka_unit_test(what_is_no_elf_file_has_none),
		cmocka_unit_test(no_more_than_64_kib_of_a_file_are_read),
		cmocka_unit_test(a_file_that_cannot_be_read_says_why),
		cmocka_unit_test(readelf_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
