/*
 * installed.h - where files are that were installed with the tools
 */
#ifndef DCPI_TOOLS_INSTALLED_H
#define DCPI_TOOLS_INSTALLED_H

#include <limits.h>

/* The file in ../lib/dcpi/ from where the program lies that runs. 0 or -errno, then `path` is where it was looked for.
 */
int installed_find(const char *name, char path[PATH_MAX]);

#endif
