/*
 * fake.h - directories and files that stand in for /proc and /sys
 *
 * A directory below /tmp that a test fills and that is removed with everything in it.
 */
#ifndef DCPI_TESTS_FAKE_H
#define DCPI_TESTS_FAKE_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "tests/remove_tree.h"

struct fake {
	char path[64];
};

static inline void
fake_init(struct fake *fake)
{
	snprintf(fake->path, sizeof(fake->path), "/tmp/dcpi-test-XXXXXX");
	assert_non_null(mkdtemp(fake->path));
}

static inline void
fake_fini(struct fake *fake)
{
	remove_tree(fake->path);
}

static inline const char *
fake_path(const struct fake *fake, const char *name, char path[PATH_MAX])
{
	assert_true(snprintf(path, PATH_MAX, "%s/%s", fake->path, name) < PATH_MAX);
	return path;
}

static inline void
fake_directory(const struct fake *fake, const char *name)
{
	char path[PATH_MAX];

	fake_path(fake, name, path);
	for (char *slash = path + strlen(fake->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
}

static inline void
fake_bytes(const struct fake *fake, const char *name, const void *data, size_t size)
{
	char path[PATH_MAX], *slash;
	int fd;

	snprintf(path, sizeof(path), "%s", name);
	slash = strrchr(path, '/');
	if (slash) {
		*slash = '\0';
		fake_directory(fake, path);
	}
	fd = open(fake_path(fake, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static inline void
fake_text(const struct fake *fake, const char *name, const char *text)
{
	fake_bytes(fake, name, text, strlen(text));
}

#endif
