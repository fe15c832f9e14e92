/*
 * remove_tree.h - what tests and measurements made, they remove
 */
#ifndef DCPI_TESTS_REMOVE_TREE_H
#define DCPI_TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int
remove_tree_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Remove a directory and what is in it; links are not followed. 0, or -1 with errno. */
static inline int
remove_tree(const char *path)
{
	return nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
