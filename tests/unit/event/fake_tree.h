/*
 * fake_tree.h - a /sys or /proc that the test makes in a temporary folder
 */
#ifndef DCPI_TESTS_FAKE_TREE_H
#define DCPI_TESTS_FAKE_TREE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/remove_tree.h"

struct fake_tree {
	char root[64];
};

static inline void
fake_tree_init(struct fake_tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/dcpi-event-test-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
}

static inline void
fake_tree_fini(struct fake_tree *tree)
{
	assert_int_equal(remove_tree(tree->root), 0);
}

/* Around a test whose state is an empty tree. */
static inline int
fake_tree_setup(void **state)
{
	struct fake_tree *tree = malloc(sizeof(*tree));

	assert_non_null(tree);
	fake_tree_init(tree);
	*state = tree;
	return 0;
}

static inline int
fake_tree_teardown(void **state)
{
	fake_tree_fini(*state);
	free(*state);
	return 0;
}

/* Write a file and the folders above it. */
static inline void
fake_tree_write(const struct fake_tree *tree, const char *path, const char *content)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", tree->root, path);
	for (char *slash = full + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

#define DEVICES "bus/event_source/devices"

/* A PMU as Intel's: fields in one range, in two, in config1, and ready-made events. */
static inline void
fake_tree_add_cpu_pmu(const struct fake_tree *tree)
{
	fake_tree_write(tree, DEVICES "/cpu/type", "4\n");
	fake_tree_write(tree, DEVICES "/cpu/caps/max_precise", "3\n");
	fake_tree_write(tree, DEVICES "/cpu/format/event", "config:0-7\n");
	fake_tree_write(tree, DEVICES "/cpu/format/umask", "config:8-15\n");
	fake_tree_write(tree, DEVICES "/cpu/format/edge", "config:18\n");
	fake_tree_write(tree, DEVICES "/cpu/format/wide", "config:0-7,32-35\n");
	fake_tree_write(tree, DEVICES "/cpu/format/ldlat", "config1:0-15\n");
	fake_tree_write(tree, DEVICES "/cpu/format/all", "config2:0-63\n");
	fake_tree_write(tree, DEVICES "/cpu/format/future", "config3:0-63\n");
	fake_tree_write(tree, DEVICES "/cpu/format/strange", "attr:precise\n");
	fake_tree_write(tree, DEVICES "/cpu/events/cpu-cycles", "event=0x3c\n");
	fake_tree_write(tree, DEVICES "/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	fake_tree_write(tree, DEVICES "/cpu/events/mem-loads.unit", "Bytes\n");
	fake_tree_write(tree, DEVICES "/cpu/events/loop", "loop\n");
}

#endif
