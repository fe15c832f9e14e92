/*
 * unwind_fixture.h - the unwind table of an ELF file of the fixture
 */
#ifndef DCPI_TESTS_UNIT_CODE_UNWIND_FIXTURE_H
#define DCPI_TESTS_UNIT_CODE_UNWIND_FIXTURE_H

#include "tests/unit/image/elf_fixture.h"

#include "code/unwind_build.h"
#include "unwind/table.h"

/* For unwind_table_free(). */
static inline struct unwind_table *
table_of_file(const char *path)
{
	struct unwind_table *table;
	struct elf_file file;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(elf_file_open(&file, path), 0);
	assert_int_equal(unwind_build(&file, NULL, &bytes, &size), 0);
	elf_file_close(&file);
	assert_int_equal(unwind_table_load(bytes, size, &table), 0);
	free(bytes);
	return table;
}

#endif
