/*
 * run_files.h - the files that a plugin keeps in the directory of a run, one after the other
 *
 * Each process and program has one, called PREFIXpid.number (emulator/process_file.h). Programs of other users may
 * have written into the directory: what has such a name and is no file is handed on as damaged, and never followed.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMULATED_RUN_FILES_H
#define DCPI_TOOLS_EMULATED_RUN_FILES_H

#include <stdbool.h>

struct run_file {
	int fd; /* for reading; -1: no file, or none that we may read */
	int pid;
	int number; /* of the process' programs, from 0 on */
};

/* 0, or a negative error, at which the walk ends. The descriptor is closed behind it. */
typedef int run_file_visit(void *context, const struct run_file *file);

/* In no order; files may come and go meanwhile. 0, what a visit ended with, or -errno. */
int run_files_each(const char *directory, const char *prefix, run_file_visit *visit, void *context);

/* The file begins a process that has not ended. */
bool run_file_is_running(const struct run_file *file);

#endif
