/*
 * record_made.h - record files of the timing plugin, made by hand: counters only
 */
#ifndef DCPI_TESTS_RECORD_MADE_H
#define DCPI_TESTS_RECORD_MADE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/record/record_file.h"

static inline void
record_made_directory(char directory[64])
{
	snprintf(directory, 64, "/tmp/dcpi-record-test.XXXXXX");
	assert_non_null(mkdtemp(directory));
}

static inline void
record_made_file(const char *directory, const char *name, const struct record_header *header,
                 const struct record_counters *vcpus)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, header, sizeof(*header), 0), sizeof(*header));
	for (uint32_t i = 0; vcpus && i < header->vcpu_count; i++)
		assert_int_equal(pwrite(fd, &vcpus[i], sizeof(vcpus[i]), (off_t)RECORD_VCPU_OFFSET(i)),
		                 sizeof(vcpus[i]));
	close(fd);
}

static inline void
record_made_remove(const char *directory)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		(void)unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	assert_int_equal(rmdir(directory), 0);
}

#endif
