/* A pattern of labels and an expression of epochs stand for as many sets as they name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/profile_set_parts.h"
#include "profile/catalog.h"

char *
profile_set_literal(const char *text)
{
	char *pattern = malloc(2 * strlen(text) + 1), *to = pattern;

	if (!pattern)
		return NULL;
	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return pattern;
}

/* One more set, as `from`, one of `count`; NULL when memory ends. */
static struct profile_set *
add_found(struct profile_sets *sets, const struct profile_set *from, size_t count, char *title, char *owned)
{
	struct profile_set *set = title && owned ? profile_sets_grow(sets) : NULL;

	if (!set) {
		free(title);
		free(owned);
		return NULL;
	}
	*set = *from;
	set->title = title;
	set->owned = owned;
	set->is_found = count > 1;
	return set;
}

static int
add_labels(struct profile_sets *sets, const struct profile_set *from, struct profile *profile, char *why, size_t size)
{
	struct profile_set *set;
	char **labels;
	size_t count;
	int err;

	err = catalog_labels(profile, &from->request, &labels, &count, why, size);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		set = add_found(sets, from, count, strdup(labels[i]), profile_set_literal(labels[i]));
		if (set)
			set->request.label = set->owned;
		else
			err = -ENOMEM;
	}
	catalog_free_labels(labels, count);
	return err;
}

static int
add_epochs(struct profile_sets *sets, const struct profile_set *from, struct profile *profile, char *why, size_t size)
{
	struct profile_set *set;
	uint32_t *ids;
	size_t count;
	int err;

	err = catalog_choose_epochs(profile, &from->request, &ids, &count, why, size);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		char title[32], number[16];

		snprintf(title, sizeof(title), "epoch %u", ids[i]);
		snprintf(number, sizeof(number), "%u", ids[i]);
		set = add_found(sets, from, count, strdup(title), strdup(number));
		if (set)
			set->request.epoch = set->owned;
		else
			err = -ENOMEM;
	}
	free(ids);
	return err;
}

static bool
is_pattern(const struct profile_sets *sets, const struct profile_set *set)
{
	if (sets->kind == SET_LABEL)
		return strpbrk(set->request.label, "*?[") != NULL;
	return sets->kind == SET_EPOCH;
}

static int
expand_set(struct profile_sets *sets, const struct profile_set *from)
{
	struct database database;
	char why[512] = "";
	int status, err;

	status = database_open(&database, from->directory);
	if (status)
		return status;
	err = (sets->kind == SET_LABEL ? add_labels : add_epochs)(sets, from, database.profile, why, sizeof(why));
	if (err == -ENOMEM) {
		status = message_cannot(NULL, "list the sets", err, NULL);
	} else if (err && why[0]) {
		message_print(from->directory, "%s", why);
		status = err == -EINVAL ? STATUS_USAGE : error_exit_status(err);
	} else if (err) {
		status = database_cannot_read(&database, err);
	}
	database_close(&database);
	return status;
}

/* Those that are no patterns stay as they are. */
int
profile_sets_expand(struct profile_sets *sets)
{
	size_t left = sets->kind == SET_LABEL || sets->kind == SET_EPOCH ? sets->count : 0;

	/* Each goes to the end, or what it stands for does. */
	for (; left > 0; left--) {
		struct profile_set first = sets->sets[0];
		int status = STATUS_OK;

		if (is_pattern(sets, &first)) {
			status = expand_set(sets, &first);
			profile_sets_remove(sets, 0);
		} else {
			memmove(sets->sets, sets->sets + 1, (sets->count - 1) * sizeof(first));
			sets->sets[sets->count - 1] = first;
		}
		if (status)
			return status;
	}
	return STATUS_OK;
}
