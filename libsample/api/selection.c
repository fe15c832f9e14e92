#include <libsample/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/parts.h"

_Static_assert((int)SAMPLE_KIND_USER == (int)IMAGE_USER && (int)SAMPLE_KIND_KERNEL == (int)IMAGE_KERNEL,
               "they are the database's");
_Static_assert((int)SAMPLE_KIND_MODULE == (int)IMAGE_MODULE && (int)SAMPLE_KIND_VDSO == (int)IMAGE_VDSO,
               "they are the database's");
_Static_assert((int)SAMPLE_KIND_JIT == (int)IMAGE_JIT && (int)SAMPLE_KIND_ANON == (int)IMAGE_ANON,
               "they are the database's");

/* What a caller that was built with an older version knows of a request. */
static struct selection_request
request_of(const struct sample_request *request)
{
	struct sample_request known = {.size = sizeof(known)};

	if (request)
		memcpy(&known, request, request->size < sizeof(known) ? request->size : sizeof(known));
	return (struct selection_request){
		.epoch = known.epoch,
		.since_ns = known.since_ns,
		.until_ns = known.until_ns,
		.comm = known.comm,
		.cgroup = known.cgroup,
		.label = known.label,
		.host = known.host,
	};
}

static int
add_up_images(struct sample_selection *selection)
{
	const struct selection *inner = selection->inner;

	selection->image_samples = calloc(inner->image_count * inner->event_count + 1, sizeof(uint64_t));
	if (!selection->image_samples)
		return -ENOMEM;
	for (size_t i = 0; i < inner->count_count; i++) {
		const struct selection_count *count = &inner->counts[i];

		selection->image_samples[count->image * inner->event_count + count->event] += count->count;
	}
	return 0;
}

int
sample_selection_read(struct sample_database *database, const struct sample_request *request,
                      struct sample_selection **selection, char *why, size_t why_size)
{
	const struct selection_request wanted = request_of(request);
	char unused[1];
	int err;

	*selection = calloc(1, sizeof(**selection));
	if (!*selection)
		return -ENOMEM;
	err = selection_read(database->profile, &wanted, &(*selection)->inner, why ? why : unused,
	                     why ? why_size : sizeof(unused));
	if (!err)
		err = add_up_images(*selection);
	if (err) {
		sample_selection_free(*selection);
		*selection = NULL;
	}
	return err;
}

void
sample_selection_free(struct sample_selection *selection)
{
	if (!selection)
		return;
	free(selection->image_samples);
	selection_free(selection->inner);
	free(selection);
}

uint64_t
sample_selection_start_ns(const struct sample_selection *selection)
{
	return selection->inner->start_ns;
}

uint64_t
sample_selection_end_ns(const struct sample_selection *selection)
{
	return selection->inner->end_ns;
}

/* NULL: out of range. */
static const struct selection_event *
event_at(const struct sample_selection *selection, size_t event)
{
	return event < selection->inner->event_count ? &selection->inner->events[event] : NULL;
}

size_t
sample_event_count(const struct sample_selection *selection)
{
	return selection->inner->event_count;
}

int
sample_event_find(const struct sample_selection *selection, const char *name, size_t *event)
{
	for (size_t i = 0; i < selection->inner->event_count; i++)
		if (strcmp(selection->inner->events[i].name, name) == 0) {
			*event = i;
			return 0;
		}
	return -ENOENT;
}

int
sample_event_first(const struct sample_selection *selection, size_t *event)
{
	for (size_t i = 0; i < selection->inner->event_count; i++)
		if (selection->inner->events[i].available) {
			*event = i;
			return 0;
		}
	return -ENOENT;
}

const char *
sample_event_name(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->name : NULL;
}

const char *
sample_event_unit(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->unit : NULL;
}

uint64_t
sample_event_period(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->period : 0;
}

bool
sample_event_is_available(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found && found->available;
}

uint64_t
sample_event_samples(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->totals.samples : 0;
}

uint64_t
sample_event_unknown(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);
	uint64_t sum = 0;

	for (unsigned cause = 0; found && cause < UNKNOWN_CAUSE_COUNT; cause++)
		sum += found->totals.unknown[cause];
	return sum;
}

uint64_t
sample_event_lost(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->totals.lost : 0;
}

static const struct image *
image_at(const struct sample_selection *selection, size_t image)
{
	return image < selection->inner->image_count ? selection->inner->images[image].image : NULL;
}

size_t
sample_image_count(const struct sample_selection *selection)
{
	return selection->inner->image_count;
}

const char *
sample_image_path(const struct sample_selection *selection, size_t image)
{
	const struct image *found = image_at(selection, image);

	return found ? found->path : NULL;
}

enum sample_kind
sample_image_kind(const struct sample_selection *selection, size_t image)
{
	const struct image *found = image_at(selection, image);

	return found ? (enum sample_kind)found->kind : SAMPLE_KIND_UNKNOWN;
}

const uint8_t *
sample_image_build_id(const struct sample_selection *selection, size_t image, size_t *size)
{
	const struct image *found = image_at(selection, image);

	*size = found ? found->build_id_size : 0;
	return *size ? found->build_id : NULL;
}

uint64_t
sample_image_samples(const struct sample_selection *selection, size_t image, size_t event)
{
	const size_t event_count = selection->inner->event_count;

	if (image >= selection->inner->image_count || event >= event_count)
		return 0;
	return selection->image_samples[image * event_count + event];
}

size_t
sample_point_count(const struct sample_selection *selection)
{
	return selection->inner->count_count;
}

int
sample_point_get(const struct sample_selection *selection, size_t index, struct sample_point *point)
{
	const struct selection_count *count;

	if (index >= selection->inner->count_count)
		return -ERANGE;
	count = &selection->inner->counts[index];
	*point = (struct sample_point){
		.offset = count->offset,
		.samples = count->count,
		.image = count->image,
		.event = count->event,
	};
	return 0;
}
