#include "process/label.h"

#include <stdlib.h>
#include <string.h>

#include "process/hash.h"

struct label {
	struct label_set *set;
	size_t owners;
	size_t processes;              /* living ones that have it */
	uint64_t since_ns;             /* while there are any: the time before is counted */
	uint64_t begin_ns, elapsed_ns; /* counted and not taken; the end is since_ns */
	UT_hash_handle hh;
	char text[];
};

struct label_set {
	struct label *all;
	size_t unused; /* labels without owners */
};

struct label_set *
label_set_new(void)
{
	return calloc(1, sizeof(struct label_set));
}

static void
forget(struct label_set *set, struct label *label)
{
	HASH_DELETE(hh, set->all, label);
	free(label);
}

void
label_set_free(struct label_set *set)
{
	struct label *label, *next;

	if (!set)
		return;
	for (label = set->all; label; label = next) {
		next = label->hh.next;
		forget(set, label);
	}
	free(set);
}

struct label *
label_set_get(struct label_set *set, const char *text)
{
	const size_t length = strlen(text);
	struct label *label;

	HASH_FIND(hh, set->all, text, length, label);
	if (label) {
		set->unused -= label->owners == 0;
		return label_share(label);
	}
	label = calloc(1, sizeof(*label) + length + 1);
	if (!label)
		return NULL;
	label->set = set;
	label->owners = 1;
	memcpy(label->text, text, length + 1);
	HASH_ADD_KEYPTR(hh, set->all, label->text, length, label);
	if (!hash_added(label)) {
		free(label);
		return NULL;
	}
	return label;
}

struct label *
label_share(struct label *label)
{
	if (label)
		label->owners++;
	return label;
}

void
label_release(struct label *label)
{
	struct label_set *set;

	if (!label || --label->owners > 0)
		return;
	set = label->set;
	if (label->elapsed_ns == 0 || set->unused == LABEL_SET_UNUSED_MAX)
		forget(set, label);
	else
		set->unused++;
}

const char *
label_text(const struct label *label)
{
	return label ? label->text : "";
}

static void
count_until(struct label *label, uint64_t time_ns)
{
	if (time_ns <= label->since_ns)
		return;
	if (label->elapsed_ns == 0)
		label->begin_ns = label->since_ns;
	label->elapsed_ns += time_ns - label->since_ns;
	label->since_ns = time_ns;
}

/* No time is counted twice, even when a record of a process comes late. */
void
label_begin_process(struct label *label, uint64_t time_ns)
{
	if (label->processes++ == 0 && time_ns > label->since_ns)
		label->since_ns = time_ns;
}

void
label_end_process(struct label *label, uint64_t time_ns)
{
	if (--label->processes == 0)
		count_until(label, time_ns);
}

int
label_set_take(struct label_set *set, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
               void *context)
{
	struct label *label, *next;
	int result;

	for (label = set->all; label; label = next) {
		next = label->hh.next;
		if (label->processes > 0)
			count_until(label, now_ns);
		if (label->elapsed_ns) {
			const struct label_time time = {label->text, label->begin_ns, label->since_ns,
			                                label->elapsed_ns};

			result = take(context, &time);
			if (result)
				return result;
			label->elapsed_ns = 0;
		}
		if (label->owners == 0) {
			set->unused--;
			forget(set, label);
		}
	}
	return 0;
}
