/*
 * machines.h - the machines that have a description
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_MACHINES_H
#define DCPI_TOOLS_EMU_MACHINES_H

#include <limits.h>

#include "dcpi-tools/common/output.h"
#include "machine/machine.h"

struct described_machine {
	char path[PATH_MAX];
	struct machine machine;
	char why[512]; /* what is wrong with it; "": nothing */
};

struct machine_list {
	struct described_machine *machines; /* the user's own first; each directory's by name */
	size_t count;
	char own[PATH_MAX], described[PATH_MAX]; /* the directories; own may be "" */
};

/* Read all machines, except those with the name of an earlier one, which --machine would choose. 0 or -errno. */
int machine_list_read(struct machine_list *list);
void machine_list_fini(struct machine_list *list);

/* Print only machines without an error. 0 or a negative error. */
int machine_list_print_text(const struct machine_list *list, const struct output *output, bool header);
int machine_list_print_json(const struct machine_list *list, FILE *stream);

#endif
