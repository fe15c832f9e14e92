/* What was taken, into the database: see code_namer.h. */
#include "collectord/code_namer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "profile/captured.h"

int
code_namer_copy_image(struct image *to, const struct image *from)
{
	char *path = strdup(from->path);

	*to = *from;
	to->path = path;
	return path ? 0 : -ENOMEM;
}

void
code_namer_free_image(struct image *image)
{
	free((char *)image->path);
}

void
code_namer_free_result(struct result *result)
{
	capture_outcome_fini(&result->outcome);
	code_namer_free_image(&result->image);
	free(result);
}

static void
store_one(struct code_namer *namer, struct profile *profile, const struct result *result)
{
	char shown[CODE_NAMER_SHOWN_SIZE];
	uint32_t number;
	int err = profile_find_image(profile, &result->image, &number);

	if (!err)
		err = profile_put_captured(profile, number, &result->outcome.reply.captured, namer->options.limit);
	if (err && err != -ENOENT && err != namer->said_error)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: its functions stay without names: %s",
		          escape_text(result->image.path, shown, sizeof(shown)),
		          (unsigned long long)result->image.inode, error_text(err));
	namer->said_error = err;
}

/* The oldest first: what was taken later takes its place. */
static struct result *
reverse(struct result *results)
{
	struct result *oldest = NULL, *next;

	for (; results; results = next) {
		next = results->next;
		results->next = oldest;
		oldest = results;
	}
	return oldest;
}

void
code_namer_store(struct code_namer *namer, struct profile *profile)
{
	struct result *results, *next;

	pthread_mutex_lock(&namer->lock);
	results = reverse(namer->results);
	namer->results = NULL;
	pthread_mutex_unlock(&namer->lock);
	for (; results; results = next) {
		next = results->next;
		store_one(namer, profile, results);
		code_namer_free_result(results);
	}
}

bool
code_namer_wants_store(struct code_namer *namer)
{
	bool wants;

	pthread_mutex_lock(&namer->lock);
	wants = namer->results != NULL;
	pthread_mutex_unlock(&namer->lock);
	return wants;
}

void
code_namer_begin_database(struct code_namer *namer)
{
	pthread_mutex_lock(&namer->lock);
	for (struct named *named = namer->images; named; named = named->next) {
		named->is_fresh = true;
		named->due_ns = 0;
	}
	pthread_mutex_unlock(&namer->lock);
}
