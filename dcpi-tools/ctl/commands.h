/*
 * commands.h - the commands of dcpictl
 *
 * Each command gets the options of the command line and returns an exit status, after a message if it is not 0.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_COMMANDS_H
#define DCPI_TOOLS_CTL_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/common/options.h"

struct ctl_request {
	struct options options;
	const char *command;
	const struct ctl_command *entry; /* the command's row in the table of dcpictl.c; NULL in other tools */
	const char *argument;            /* the first behind the command: label's LABEL, keep's EPOCH; NULL: none */
	const char *socket;              /* NULL: the database's, or the service's */
	const char *label;               /* of an epoch, or of a process tree */
	char *const *program;            /* to run under `label`; NULL: none */
	unsigned pid;                    /* of the process that gets `label`; 0: none */
	unsigned answer_s;               /* that dcpid may take for the command; 0: CLIENT_SECONDS */
	const char *output;              /* NULL: standard output */
	const char *to;                  /* the directory that salvage makes */
	bool release;                    /* stop keeping the epoch `argument` */
	bool json;
	bool prometheus;
};

/* Ask dcpid and print the note of its reply, if it has one: flush, label --pid, reload, quit. */
int ctl_remote(const struct ctl_request *request);

/* Print the status of dcpid; as metrics also that it does not run. */
int ctl_status(const struct ctl_request *request);

/* Make dcpid begin an epoch and print its number. */
int ctl_epoch(const struct ctl_request *request);

/* Make dcpid compact the database; without a dcpid, ctl_compact_offline(). Print both sizes. */
int ctl_compact(const struct ctl_request *request);

/* Run a program under a label, or label a process that runs. The exit status of the program. */
int ctl_label(const struct ctl_request *request);

/* Read the whole database and print what is wrong with it, without a daemon or beside one; then STATUS_DAMAGED. */
int ctl_check(const struct ctl_request *request);

/*
 * Keep the epochs that request->argument selects (a number, a label of an epoch, latest, or the label of processes),
 * or with request->release stop keeping them; works also beside a dcpid. Then print all kept epochs.
 */
int ctl_keep(const struct ctl_request *request);

/*
 * Copy the sound parts of a damaged database into a new one; print what was kept and lost. STATUS_EMPTY: nothing to
 * keep.
 */
int ctl_salvage(const struct ctl_request *request);

/* Print what hinders profiling on this machine, and its remedies. STATUS_FAILURE: there is a problem. */
int ctl_doctor(const struct ctl_request *request);

/* Compact the database as its writer, if no dcpid runs. */
int ctl_compact_offline(const struct ctl_request *request);

/* Print "48.2 MiB -> 12.1 MiB". */
int ctl_print_compacted(uint64_t before_bytes, uint64_t after_bytes);

#endif
