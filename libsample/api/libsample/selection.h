/*
 * libsample/selection.h - a part of a profile: its events, its images, and the samples at each offset
 *
 * A selection is a copy: it stays as it is when the database is written or closed. Events, images and points are
 * numbered from 0; for a number that is out of range, texts are NULL and counts 0.
 */
#ifndef LIBSAMPLE_SELECTION_H
#define LIBSAMPLE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libsample/database.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sample_selection;

/* Which part to select. All zero except `size`: the latest epoch. The caller owns the texts. */
struct sample_request {
	size_t size;        /* sizeof(struct sample_request): a later version may have more at its end */
	const char *epoch;  /* "latest", "latest-N", "all", a number, or a label; NULL: "latest", with a time "all" */
	uint64_t since_ns;  /* since 1970; 0: no bound. A slice of time that contains it is selected whole */
	uint64_t until_ns;  /* since 1970; 0: no bound. A slice of time that contains it is selected whole */
	const char *comm;   /* glob(7) pattern for names of commands; NULL: any */
	const char *cgroup; /* a control group, with all below it, or a pattern; NULL: any */
	const char *label;  /* pattern; NULL: any */
	const char *host;   /* pattern for the host of epochs, among which "latest" is; NULL: any */
};

/*
 * Read the part that `request` (NULL: the latest epoch) describes. 0; -SAMPLE_ENOSELECTION, or -EINVAL for an invalid
 * epoch, with a sentence in `why`, of `why_size` bytes (NULL and 0 are allowed); -SAMPLE_EDAMAGED; -ENOMEM.
 */
int sample_selection_read(struct sample_database *database, const struct sample_request *request,
                          struct sample_selection **selection, char *why, size_t why_size);
void sample_selection_free(struct sample_selection *selection); /* NULL is allowed */

/* The time that the selection covers, ns since 1970. */
uint64_t sample_selection_start_ns(const struct sample_selection *selection);
uint64_t sample_selection_end_ns(const struct sample_selection *selection);

/* ---- events: what was counted ---- */

size_t sample_event_count(const struct sample_selection *selection);

/* 0 with the number of the event of this name ("cycles", "cpu-clock"), or -ENOENT. */
int sample_event_find(const struct sample_selection *selection, const char *name, size_t *event);

/* The first event that the sampled machine could count: usually the one that measures time. 0, or -ENOENT. */
int sample_event_first(const struct sample_selection *selection, size_t *event);

const char *sample_event_name(const struct sample_selection *selection, size_t event);
const char *sample_event_unit(const struct sample_selection *selection, size_t event); /* "cycles", "ns", ... */
uint64_t sample_event_period(const struct sample_selection *selection,
                             size_t event); /* units per sample; 0: not known */
bool sample_event_is_available(const struct sample_selection *selection, size_t event); /* the machine could count it */

/*
 * If samples stand for different numbers of units, because epochs have different periods, they are weighted: all
 * numbers of samples are then numbers of samples with sample_event_period().
 */

/* All samples in the selected time, of any command; those of them without an image; samples that were lost. */
uint64_t sample_event_samples(const struct sample_selection *selection, size_t event);
uint64_t sample_event_unknown(const struct sample_selection *selection, size_t event);
uint64_t sample_event_lost(const struct sample_selection *selection, size_t event);

/* ---- images: what code is loaded from ---- */

enum sample_kind {
	SAMPLE_KIND_UNKNOWN = 0,
	SAMPLE_KIND_USER = 1,   /* a file: offsets are the file's */
	SAMPLE_KIND_KERNEL = 2, /* offsets from the start of its text, also for the kinds below */
	SAMPLE_KIND_MODULE = 3,
	SAMPLE_KIND_VDSO = 4,
	SAMPLE_KIND_JIT = 5, /* made by the kernel at run time: a BPF program, a trampoline */
	SAMPLE_KIND_ANON = 6 /* memory without a file */
};

size_t sample_image_count(const struct sample_selection *selection);

/* As the process saw it, not escaped; "[kernel]", "[ext4]", "[anon]" if it is no file. */
const char *sample_image_path(const struct sample_selection *selection, size_t image);
enum sample_kind sample_image_kind(const struct sample_selection *selection, size_t image);

/* NULL and 0 when it has none. */
const uint8_t *sample_image_build_id(const struct sample_selection *selection, size_t image, size_t *size);
uint64_t sample_image_samples(const struct sample_selection *selection, size_t image, size_t event);

/* ---- points: samples of an event at an offset of an image ---- */

struct sample_point {
	uint64_t offset; /* of the instruction */
	uint64_t samples;
	uint32_t image;
	uint32_t event;
};

/* Ascending by image, offset and event, each once. */
size_t sample_point_count(const struct sample_selection *selection);
int sample_point_get(const struct sample_selection *selection, size_t index, struct sample_point *point); /* -ERANGE */

#ifdef __cplusplus
}
#endif

#endif
