/*
 * jitdump.h - the functions in a process's jitdump file, with where their code is in it
 *
 * Binary, as tools/perf/Documentation/jitdump-specification.txt of Linux says: a header, and records that tell that
 * code was made or moved; what else there may be is passed by. Processes append to it while they run: a record
 * that is not whole ends the reading. Only files of this machine's byte order are read.
 * Thread rule: that of the code.
 */
#ifndef DCPI_IMAGE_JITDUMP_H
#define DCPI_IMAGE_JITDUMP_H

#include "image/run_time_code.h"

#define JITDUMP_BYTES_MAX ((uint64_t)4 << 30) /* what lies behind that is not read, and the code is cut */

struct jitdump_header {
	uint16_t machine; /* ELF's e_machine */
	uint32_t pid;     /* as the process calls itself */
};

/*
 * Read `fd`, which stands at its beginning, and add what it tells. 0; -DCPI_EDAMAGED for what is no jitdump file, or
 * one with a record that cannot be: what was told before it is there; -ENOTSUP for another byte order; -ENOMEM, or the
 * errno of read().
 */
int jitdump_read(int fd, struct run_time_code *code, struct jitdump_header *header);

#endif
