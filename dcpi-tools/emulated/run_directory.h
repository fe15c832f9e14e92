/*
 * run_directory.h - the directory of the plugin's files while a program runs
 *
 * One file in it is locked as long as the tool lives that will read the other files. A directory whose lock no process
 * holds is stale: its tool was killed, and emulators that it started may still run. Thread rule: any thread, except for
 * the reaper.
 */
#ifndef DCPI_TOOLS_EMULATED_RUN_DIRECTORY_H
#define DCPI_TOOLS_EMULATED_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Make PARENT/NAME.XXXXXX, which only we read (temporary_directory.h). 0 with a descriptor, closed on exec, that holds
 * the lock until all copies of it are closed; -errno.
 */
int run_directory_make(const char *parent, const char *name, char *path, size_t size, int *lock);

/*
 * For processes of root's that become other users: they may make files in it, too. STATUS_OK, or an exit status after a
 * message.
 */
int run_directory_share(const char *path);

/*
 * Kill what was started with a plugin in the directory of a run - the emulated program, its children, what they
 * executed - until none of it is left, for half a minute at most; then remove the directory. Programs that continued
 * without the emulator are not killed.
 */
void run_directory_end_stale(const char *directory);

/* run_directory_end_stale() for our user's directories in `parent` with this name whose lock no process holds. */
void run_directory_clean(const char *parent, const char *name);

/*
 * A file of the plugin: each process and program has one, called PREFIXpid.number (emulator/process_file.h). Programs
 * of other users may have written into the directory: if something with such a name is no regular file, it is passed on
 * as damaged, and never followed.
 */
struct run_file {
	int fd; /* for reading; -1: no file, or none that we may read */
	int pid;
	int number; /* of the process' programs, from 0 on */
};

/* 0, or a negative error, at which the walk ends. The descriptor is closed after the visit. */
typedef int run_file_visit(void *context, const struct run_file *file);

/* In no order; files may come and go meanwhile. 0, what a visit ended with, or -errno. */
int run_directory_each_file(const char *directory, const char *prefix, run_file_visit *visit, void *context);

/* The file is the first one of a process that has not ended. */
bool run_file_is_running(const struct run_file *file);

/*
 * A process that outlives its tool if that is killed, and then kills what the tool has started.
 *
 * SIGKILL cannot be caught: without a reaper, emulators of a killed tool would run on, for hours perhaps. The reaper
 * sleeps until its tool is gone, and then calls run_directory_end_stale(). It blocks all signals and has no terminal.
 * One thread, and no other threads when it is started.
 */
struct run_reaper {
	pid_t pid; /* 0: none */
	int line;  /* a socket; its end says that the tool is gone */
};

/* Start the reaper for the directory of a run, which it keeps locked by a copy of `lock`. 0 or -errno. */
int run_reaper_start(struct run_reaper *reaper, const char *directory, int lock);

/* End the reaper without killing anything. One that was not started is allowed. */
void run_reaper_dismiss(struct run_reaper *reaper);

#endif
