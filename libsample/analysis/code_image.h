/*
 * code_image.h - an image of a selection, opened for analysis
 *
 * It is read from its file, which must be the build that was sampled; without such a file, from what the database has
 * captured.
 * Thread rule: one thread per code_image.
 */
#ifndef DCPI_ANALYSIS_CODE_IMAGE_H
#define DCPI_ANALYSIS_CODE_IMAGE_H

#include "code/procedures.h"
#include "image/contents.h"
#include "image/symbols.h"
#include "profile/selection.h"

struct code_image {
	uint32_t index; /* into selection->images */
	const struct image *image;
	struct profile *profile; /* NULL: nothing was captured */
	uint32_t number;         /* in the database */
	struct image_file *file;
	struct symbol_table *symbols;
	struct image_contents *contents; /* NULL before code_image_read() */
	struct procedures *procedures;   /* NULL before code_image_read() */
};

/*
 * Open image `index` of the selection and read its symbols. The selection and its profile must outlive it. 0; -ENOTSUP
 * for an image that is no file (the kernel, a JIT's memory) and was not captured; errors of image_file_open(); -ENOMEM.
 * On failure there is nothing to close.
 */
int code_image_open(struct code_image *code, const struct selection *selection, uint32_t index);

/*
 * Also read what its procedures need. 0; -ENOENT when only a debug file was found and nothing was captured; -ENOTSUP
 * for another architecture; ...
 */
int code_image_read(struct code_image *code);
void code_image_close(struct code_image *code); /* a zeroed one is allowed */

/* Why its procedure cannot be analysed (-ENOENT), as a sentence. */
#define CODE_IMAGE_NO_TEXT "its code is neither in the image's file nor captured"

/* Why an image could not be opened or read, as an end of a sentence: "another build lies there now". */
const char *code_image_trouble(const struct image *image, int err);

/* Samples of `event` (an index of the selection) with offsets from `start` to `end` - 1 of image `index`. */
uint64_t code_image_samples(const struct selection *selection, uint32_t index, uint64_t start, uint64_t end,
                            uint16_t event);

/*
 * code_image_samples(); *taken becomes how many samples were taken, *squares (NULL: not wanted) the sum of squared
 * weights.
 */
uint64_t code_image_count(const struct selection *selection, uint32_t index, uint64_t start, uint64_t end,
                          uint16_t event, uint64_t *taken, double *squares);

/*
 * The index of the first of selection->counts of image `index` that is not before `offset`; count_count when there is
 * none.
 */
size_t code_image_first_count(const struct selection *selection, uint32_t index, uint64_t offset);

#endif
