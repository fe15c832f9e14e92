#include "dcpi-tools/loc/strides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

struct loc_strides {
	struct loc_profile profile;
};

static int
take_record(void *context, struct locality_record *record)
{
	struct loc_strides *strides = context;

	return loc_profile_add_record(&strides->profile, record);
}

/* What the run's other programs and libraries did is left out. */
static void
keep_build(struct loc_strides *strides, const struct locality_search *search)
{
	struct loc_profile *profile = &strides->profile;
	size_t kept = 0;

	for (size_t i = 0; i < profile->loop_count; i++) {
		const struct locality_loop *loop = profile->loops[i].loop;

		if (loop->build_id_size == search->size && memcmp(loop->build_id, search->build_id, search->size) == 0)
			profile->loops[kept++] = profile->loops[i];
		else
			free(profile->loops[i].references);
	}
	profile->loop_count = kept;
}

int
loc_strides_read(struct profile *from, const struct locality_search *search, struct loc_strides **strides)
{
	struct loc_strides *made;
	uint32_t epoch;
	int err = search->size ? locality_rows_find(from, search, &epoch) : -ENOENT;

	*strides = NULL;
	if (err)
		return err == -ENOENT ? 0 : err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	loc_profile_init(&made->profile);
	err = locality_rows_read(from, epoch, take_record, made);
	if (err) {
		loc_strides_free(made);
		return err == -EPROTO ? 0 : err; /* of another version of dcpi, or damaged */
	}
	keep_build(made, search);
	*strides = made;
	return 0;
}

void
loc_strides_free(struct loc_strides *strides)
{
	if (strides)
		loc_profile_fini(&strides->profile);
	free(strides);
}

static bool
is_file(const struct locality_loop *loop, const char *path)
{
	return strcmp(text_basename(loop->file), text_basename(path)) == 0;
}

static bool
is_stride(const struct loc_stride *a, const struct loc_stride *b)
{
	return a->class == b->class && a->bytes == b->bytes && strcmp(a->name, b->name) == 0;
}

/* False: there is no room for one more. */
static bool
add_stride(const struct loc_loop *loop, uint32_t at, struct loc_stride found[LOC_STRIDES_MAX], size_t *count)
{
	const struct locality_reference *text = &loop->loop->references[at];
	const struct loc_reference *reference = &loop->references[at];
	const enum stride_class class = loc_stride_class(text, reference);
	const bool has_stride = class != STRIDE_INDEX && class != STRIDE_IRREGULAR;
	const struct loc_stride stride = {class, has_stride ? reference->stride : 0, text->name};

	for (size_t i = 0; i < *count; i++) {
		if (is_stride(&found[i], &stride))
			return true;
	}
	if (*count == LOC_STRIDES_MAX)
		return false;
	found[(*count)++] = stride;
	return true;
}

size_t
loc_strides_find(const struct loc_strides *strides, const char *path, uint32_t line, bool writes, uint32_t bytes,
                 struct loc_stride found[LOC_STRIDES_MAX])
{
	const struct loc_profile *profile = &strides->profile;
	size_t count = 0;

	for (size_t i = 0; i < profile->loop_count; i++) {
		const struct loc_loop *loop = &profile->loops[i];

		for (uint32_t at = 0; at < loop->loop->count && is_file(loop->loop, path); at++) {
			const struct locality_reference *text = &loop->loop->references[at];

			if (text->line == line && text->bytes == bytes && (text->access == 'W') == writes &&
			    loop->references[at].score.references && !add_stride(loop, at, found, &count))
				return 0;
		}
	}
	return count;
}

bool
loc_strides_is_loop(const struct loc_strides *strides, const char *path, uint32_t line)
{
	for (size_t i = 0; i < strides->profile.loop_count; i++) {
		const struct locality_loop *loop = strides->profile.loops[i].loop;

		if (loop->line == line && is_file(loop, path))
			return true;
	}
	return false;
}
