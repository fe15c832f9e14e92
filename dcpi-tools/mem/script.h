/*
 * script.h - run a program in Lua with a memory profile: `dcpimem script`
 *
 * The program has the rights of the user, and all libraries of Lua. Ctrl-C ends it where it is.
 * Thread rule: one thread; one script a process at a time, because a signal handler has its state.
 */
#ifndef DCPI_TOOLS_MEM_SCRIPT_H
#define DCPI_TOOLS_MEM_SCRIPT_H

#include <limits.h>

#include "dcpi-tools/mem/script_profile.h"

#define SCRIPT_DIRECTORY DCPI_SCRIPT_DIRECTORY /* of the installed scripts: the Makefile's */
#define SCRIPT_STDIN     "-"                   /* as a name: standard input */

/*
 * Find the file of the script `name`: the file, or one of the scripts that are installed ($DCPI_SCRIPTS, else
 * SCRIPT_DIRECTORY), if `name` has no slash and is no file here. STATUS_OK, or an exit status after a message.
 */
int script_find(const char *name, char path[PATH_MAX]);

/*
 * Run the script at `path`; `arguments` are its name and arguments, and end with NULL. It prints to standard output. An
 * exit status: that of an error, after a message; does not return if the script calls os.exit() or was interrupted.
 */
int script_run(const struct script_profile *profile, const char *path, char **arguments);

#endif
