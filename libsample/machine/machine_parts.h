/*
 * machine_parts.h - what the files that read a machine's description share
 *
 * Each reads one group of the file into the machine and refuses what contradicts itself. 0 or -DCPI_ECONFIG.
 */
#ifndef DCPI_MACHINE_MACHINE_PARTS_H
#define DCPI_MACHINE_MACHINE_PARTS_H

#include "base/config.h"
#include "machine/machine.h"

/* A group of numbers only. */
int machine_read_group(const struct config_source *source, const config_setting_t *group,
                       const struct config_field *fields, size_t count, void *into);

/* The member `name` of `group`, one of `words`: its number into *value, which stays when the member is not there. */
int machine_read_word(const struct config_source *source, const config_setting_t *group, const char *name,
                      const char *const *words, unsigned count, unsigned *value);

/* Refuse the member `name` of `group` when its value is no power of two. */
int machine_check_power(const struct config_source *source, const config_setting_t *group, const char *name,
                        uint64_t value);

int machine_read_caches(const struct config_source *source, const config_setting_t *root, struct machine *machine);
int machine_read_tlbs(const struct config_source *source, const config_setting_t *root, struct machine *machine);
int machine_read_prefetchers(const struct config_source *source, const config_setting_t *root, struct machine *machine);
int machine_read_branches(const struct config_source *source, const config_setting_t *root, struct machine *machine);
int machine_read_memory(const struct config_source *source, const config_setting_t *root, struct machine *machine);

#endif
