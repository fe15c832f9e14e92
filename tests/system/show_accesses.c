/*
 * show_accesses - what Arm's SPE wrote into a recording, an access a line: as perf script has it, sorted by time
 *
 * show_accesses FILE: process/thread [CPU] time address data-source weight instruction. Of the data source, the lock is
 * left out, of which perf does not know with SPE.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "dcpi-tools/import/recording.h"
#include "dcpi-tools/mem/spe_areas.h"

static int
show(void *context, const struct record *sample)
{
	(void)context;
	printf("%d/%d [%03u] %" PRIu64 ".%09" PRIu64 ": %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIx64 "\n",
	       (int)sample->pid, (int)sample->tid, sample->sample.cpu, sample->time / 1000000000,
	       sample->time % 1000000000, sample->sample.data_address,
	       sample->sample.data_source & ~(uint64_t)PERF_MEM_S(LOCK, LOCKED), sample->sample.weight,
	       sample->sample.address);
	return 0;
}

static int
take(void *context, const struct record *record, uint32_t event)
{
	struct spe_areas *areas = context;
	const int err = record->time ? spe_areas_take(areas, record->time, show, NULL) : 0;

	(void)event;
	return err ? err : spe_areas_follow(areas, record);
}

int
main(int argc, char **argv)
{
	const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct perf_recording recording = {.data = NULL};
	struct perf_data_fault fault;
	struct spe_areas *areas = NULL;
	int err = fd < 0 || spe_areas_find(fd, &areas) || !areas ||
	          recording_open(&recording, fd, take, areas, &fault) || recording_read(&recording, NULL) ||
	          spe_areas_take(areas, UINT64_MAX, show, NULL);

	if (err)
		fputs("show_accesses: cannot read accesses of SPE in the recording FILE\n", stderr);
	recording_close(&recording);
	spe_areas_free(areas);
	if (fd >= 0)
		close(fd);
	return err;
}
