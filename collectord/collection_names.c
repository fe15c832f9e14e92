/* Build-ids of files, and names for code that processes make at run time: who looks for them, and when. */
#include "collectord/collection_internal.h"

#include <errno.h>

#include "base/error.h"
#include "collectord/capture_child.h"

#define LAST_READ_NS UINT64_C(5000000000) /* at the end, what processes told is waited for so long */

void
collection_exchange_notes(struct collection *collection)
{
	struct jit_process maker;
	uint64_t generation;
	uint32_t pid;

	while (code_notes_take_renewal(collection->notes, &pid, &generation))
		sampler_renew_code(collection->sampler, pid, generation);
	while (sampler_take_code_maker(collection->sampler, &maker))
		code_notes_meet(collection->notes, &maker);
}

void
collection_ask_files(struct collection *collection)
{
	struct sampled_file file;
	struct image changed;
	uint32_t content;

	if (!collection->files)
		return;
	while (file_ids_take_change(collection->files, &changed, &content))
		sampler_change_file(collection->sampler, &changed, content);
	while (sampler_take_file(collection->sampler, &file))
		file_ids_ask(collection->files, &file);
}

static void
store_names(void *context)
{
	flusher_store_names(context);
}

void
collection_begin_names(struct collection *collection)
{
	const struct code_namer_options options = {
		.program = collection->capture_program,
		.notes = collection->notes,
		.limit = collection_capture_limit(&collection->config),
		.ready = store_names,
		.context = collection->flusher,
		.log = collection->log,
	};

	flusher_give_notes(collection->flusher, collection->notes);
	/* that the program is not there has been said */
	if (options.limit > 0 && capture_child_find(collection->capture_program) == 0) {
		collection->namer = code_namer_new(&options);
		if (!collection->namer)
			log_write(collection->log, LOG_LEVEL_WARNING, "code made at run time stays without names: %s",
			          error_text(-errno));
	}
	flusher_give_namer(collection->flusher, collection->namer);
}

static int
store_last(struct profile *profile, void *context)
{
	code_namer_store(context, profile);
	return 0;
}

void
collection_end_names(struct collection *collection)
{
	if (!collection->namer)
		return;
	code_namer_hurry(collection->namer, LAST_READ_NS);
	code_namer_stop(collection->namer);
	if (code_namer_wants_store(collection->namer))
		(void)flusher_call(collection->flusher, store_last, collection->namer);
}
