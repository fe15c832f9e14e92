/* Names and text of images: see collection.h and capturer.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectord/capture_child.h"

#define SHARE_MAX 4                    /* of the database */
#define LAST_NS   UINT64_C(2000000000) /* at the end, for images whose file may soon be gone */

#define PACKAGES_WAIT_NS UINT64_C(60000000000)

uint64_t
collection_capture_limit(const struct config *config)
{
	const uint64_t most = config->size_limit / SHARE_MAX;

	return config->capture_limit < most ? config->capture_limit : most;
}

void
collection_begin_capture(struct collection *collection)
{
	const struct config *config = &collection->config;
	struct capturer_options options = {
		.program = collection->capture_program,
		.limit = collection_capture_limit(config),
		.overhead_limit_ppm = config->overhead_limit_ppm,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.packages_wait_ns = PACKAGES_WAIT_NS,
		.files = collection->files,
		.log = collection->log,
	};
	int err;

	if (options.limit == 0)
		return;
	err = capture_child_find(collection->capture_program);
	if (!err) {
		collection->capturer = capturer_new(&options);
		err = collection->capturer ? 0 : -errno;
	}
	if (err)
		log_write(collection->log, LOG_LEVEL_WARNING, "%s: names and text of programs cannot be captured: %s",
		          collection->capture_program, error_text(err));
}

void
collection_update_capture(struct collection *collection)
{
	if (collection->capturer)
		capturer_track_images(collection->capturer, sampler_images(collection->sampler),
		                      sampler_attribution(collection->sampler));
}

void
collection_finish_capture(struct collection *collection)
{
	if (!collection->capturer)
		return;
	(void)collection_drain_with(collection, sampler_drain_all);
	collection_update_capture(collection);
	capturer_drain(collection->capturer, LAST_NS);
}
