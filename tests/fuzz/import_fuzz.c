/*
 * import_fuzz - recordings that no perf would write, imported into a database
 *
 * The input is the file. Whatever it says, what is written is a sound epoch or none. The database begins anew every so
 * many inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/import/perf_import.h"
#include "tests/fuzz/touch_record.h"
#include "tests/remove_tree.h"

#define INPUTS_OF_A_DATABASE 64
#define SIZE_LIMIT           ((uint64_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/dev/shm/dcpi-import-fuzz-XXXXXX"; /* memory: each input is written and synced */

static void
remove_directory(void)
{
	remove_tree(directory);
}

static struct profile *
open_profile(void)
{
	const struct profile_options options = {.write = true, .size_limit = SIZE_LIMIT};
	static struct profile *profile;
	static unsigned inputs;
	static bool is_made;

	if (!is_made) {
		require(mkdtemp(directory) != NULL);
		atexit(remove_directory);
		is_made = true;
	}
	if (inputs++ % INPUTS_OF_A_DATABASE == 0) {
		char path[sizeof(directory) + 16];

		profile_close(profile);
		snprintf(path, sizeof(path), "%s/db", directory);
		remove_tree(path);
		require(profile_open(path, &options, &profile) == 0);
	}
	return profile;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct perf_import_report report;
	static const volatile sig_atomic_t no_stop;
	const struct perf_import_request request = {
		.profile = open_profile(),
		.fd = memfd_create("perf.data", MFD_CLOEXEC),
		.label = "fuzz",
		.sums = true,
		.stop = &no_stop,
	};
	int err;

	require(request.fd >= 0);
	require(write(request.fd, data, size) == (ssize_t)size && lseek(request.fd, 0, SEEK_SET) == 0);
	err = perf_import(&request, &report);
	close(request.fd);
	require(err == 0 || (err == -DCPI_EDAMAGED && report.fault.text));
	require(report.epoch.id == 0 || report.samples > 0);
	require(profile_check(request.profile, NULL, NULL) == 0);
	return 0;
}
