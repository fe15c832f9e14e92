/*
 * epoch_host.h - the machine that an epoch is of: name, kernel and model of the CPU
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_EPOCH_HOST_H
#define DCPI_PROFILE_EPOCH_HOST_H

#include <stddef.h>

#include "profile/epoch.h"

/* Fill host, kernel and cpu of `epoch` from uname(2) and files below `procfs` ("/proc"). Never fails: "" is unknown. */
void epoch_host_describe(const char *procfs, struct epoch *epoch);

/*
 * The model of the first processor in the text of /proc/cpuinfo; "" when it has none. code/pipeline.c reads it:
 * "AMD EPYC (AuthenticAMD family 25 model 17)", "ARM implementer 0x41, part 0xd0c". An x86 with AMX has it,
 * "... (GenuineIntel family 6 model 167 with amx_tile)": hypervisors give the numbers of an older model, but the
 * instructions identify it.
 */
void epoch_host_cpu_model(const char *cpuinfo, char *model, size_t size);

#endif
