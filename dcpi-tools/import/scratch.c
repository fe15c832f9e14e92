#include "dcpi-tools/import/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/common/message.h"

#define SIZE_LIMIT (UINT64_C(1) << 40) /* bytes: the disk's size is the limit */

int
scratch_open(struct import_scratch *scratch)
{
	const struct profile_options options = {.write = true, .size_limit = SIZE_LIMIT};
	const char *parent = getenv("TMPDIR");
	int err;

	memset(scratch, 0, sizeof(*scratch));
	if (!parent || parent[0] != '/')
		parent = "/tmp";
	if (snprintf(scratch->directory, sizeof(scratch->directory), "%s/dcpimport.XXXXXX", parent) >=
	            (int)sizeof(scratch->directory) ||
	    !mkdtemp(scratch->directory)) {
		err = -errno;
		scratch->directory[0] = '\0';
		return message_cannot(parent, "make a directory for what is imported", err,
		                      "TMPDIR names another place");
	}
	err = profile_open(scratch->directory, &options, &scratch->profile);
	if (!err)
		return 0;
	scratch->profile = NULL;
	err = message_cannot(scratch->directory, "write what is imported", err, "TMPDIR names another place");
	scratch_close(scratch);
	return err;
}

void
scratch_close(struct import_scratch *scratch)
{
	static const char *const files[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};

	profile_close(scratch->profile);
	for (size_t i = 0; scratch->directory[0] && i < sizeof(files) / sizeof(files[0]); i++) {
		char path[PATH_MAX + 16];

		snprintf(path, sizeof(path), "%s/%s", scratch->directory, files[i]);
		(void)unlink(path);
	}
	if (scratch->directory[0])
		(void)rmdir(scratch->directory);
	memset(scratch, 0, sizeof(*scratch));
}
