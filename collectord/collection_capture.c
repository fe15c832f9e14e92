/* Names and text of images, and names of code made at run time: see collection.h, capturer.h and code_namer.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectord/capture_child.h"

#define SHARE_MAX        4                     /* of the database */
#define LAST_NS          UINT64_C(2000000000)  /* at the end, for images whose file may soon be gone */
#define LAST_READ_NS     UINT64_C(5000000000)  /* for names of code made at run time, at the end */
#define PACKAGES_WAIT_NS UINT64_C(60000000000) /* from the start, for images of packages */

/* Bytes of the database that names and text may take, in all; 0: there are none. */
static uint64_t
capture_limit(const struct config *config)
{
	const uint64_t most = config->size_limit / SHARE_MAX;

	return config->capture_limit < most ? config->capture_limit : most;
}

/* Names are only there after a flush: the flusher has been made by then. */
static void
store_names(void *context)
{
	const struct collection *collection = context;

	flusher_call_store(collection->flusher);
}

void
collection_begin_capture(struct collection *collection)
{
	const struct config *config = &collection->config;
	struct code_namer_options code = {
		.files = collection->jit_files,
		.limit = capture_limit(config),
		.ready = store_names,
		.context = collection,
		.log = collection->log,
	};
	struct capturer_options images = {
		.limit = capture_limit(config),
		.overhead_limit_ppm = config->overhead_limit_ppm,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.packages_wait_ns = PACKAGES_WAIT_NS,
		.files = collection->files,
		.log = collection->log,
	};
	int err;

	if (images.limit == 0)
		return;
	err = capture_child_find(collection->capture_program);
	if (err)
		goto fail;
	collection->capture_thread = capture_thread_new(collection->capture_program);
	if (!collection->capture_thread) {
		err = -errno;
		goto fail;
	}
	code.thread = images.thread = collection->capture_thread;
	collection->namer = code_namer_new(&code);
	if (!collection->namer)
		log_write(collection->log, LOG_LEVEL_WARNING, "code made at run time stays without names: %s",
		          error_text(-errno));
	collection->capturer = capturer_new(&images);
	if (collection->capturer)
		return;
	err = -errno;
fail:
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

static int
store_last(struct profile *profile, void *context)
{
	code_namer_store(context, profile);
	return 0;
}

void
collection_end_capture(struct collection *collection)
{
	struct code_namer *namer = collection->namer;

	if (namer)
		code_namer_drain(namer, LAST_READ_NS);
	if (collection->capture_thread)
		capture_thread_stop(collection->capture_thread);
	if (namer && code_namer_has_results(namer))
		(void)flusher_call(collection->flusher, store_last, namer);
}

void
collection_free_capture(struct collection *collection)
{
	capture_thread_free(collection->capture_thread);
	code_namer_free(collection->namer);
	capturer_free(collection->capturer);
	collection->namer = NULL;
	collection->capturer = NULL;
	collection->capture_thread = NULL;
}
