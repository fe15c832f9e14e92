/*
 * procedure_search.h - what was found of a procedure that a user names (private to this room)
 *
 * Thread rule: as procedure_find.h.
 */
#ifndef DCPI_ANALYSIS_PROCEDURE_SEARCH_H
#define DCPI_ANALYSIS_PROCEDURE_SEARCH_H

#include <stdio.h>

#include "analysis/procedure_find.h"

#define SHOWN_SIZE 256

/* One that could be meant. */
struct match {
	uint32_t image;
	uint64_t offset, size, address;
	uint64_t samples;
};

/* A name that holds the one that was asked for. */
struct part {
	char *name; /* owned */
	uint64_t samples;
};
#define PARTS_MAX 3

struct search {
	const struct procedure_query *query;
	bool by_address;
	uint64_t address; /* ELF's, with by_address */
	struct match *matches;
	size_t count, capacity;
	char *near; /* a name that is like the one that was asked for; owned */
	struct part parts[PARTS_MAX];
	size_t part_count;
	size_t opened; /* images */
	int trouble;   /* of the image that could not be opened and has most samples; 0: of none */
	uint32_t trouble_image;
	uint64_t trouble_samples;
	bool trouble_has_name; /* a procedure there is called what was asked for */
	struct match nameless; /* the hottest piece of code without a name; size 0: none */
};

uint64_t procedure_search_samples(const struct search *search, const struct code_image *code,
                                  const struct symbol *symbol);

/* Look in an image for what could have been meant: near, parts and nameless. 0, or -ENOMEM. */
int procedure_search_near(struct search *search, const struct code_image *code);

/* The image's path, fit for a terminal. */
const char *procedure_search_path(const struct search *search, uint32_t image, char shown[SHOWN_SIZE]);

/* Why none of the matches can be meant; they descend by samples. */
void procedure_search_complain(const struct search *search, FILE *why);

#endif
