#include "process/label.h"

#include <stdlib.h>
#include <string.h>

#include "process/hash.h"

struct label {
	struct labels *labels; /* that it is one of */
	size_t owners;
	size_t processes;              /* that have it and live */
	uint64_t since_ns;             /* while there are any: the time before is counted */
	uint64_t begin_ns, elapsed_ns; /* counted and not taken; the end is since_ns */
	UT_hash_handle hh;
	char text[];
};

struct labels {
	struct label *all;
	size_t ended; /* that nobody owns */
};

struct labels *
labels_new(void)
{
	return calloc(1, sizeof(struct labels));
}

static void
forget(struct labels *labels, struct label *label)
{
	HASH_DELETE(hh, labels->all, label);
	free(label);
}

void
labels_free(struct labels *labels)
{
	struct label *label, *next;

	if (!labels)
		return;
	for (label = labels->all; label; label = next) {
		next = label->hh.next;
		forget(labels, label);
	}
	free(labels);
}

struct label *
labels_get(struct labels *labels, const char *text)
{
	const size_t length = strlen(text);
	struct label *label;

	HASH_FIND(hh, labels->all, text, length, label);
	if (label) {
		labels->ended -= label->owners == 0;
		return label_share(label);
	}
	label = calloc(1, sizeof(*label) + length + 1);
	if (!label)
		return NULL;
	label->labels = labels;
	label->owners = 1;
	memcpy(label->text, text, length + 1);
	HASH_ADD_KEYPTR(hh, labels->all, label->text, length, label);
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
	struct labels *labels;

	if (!label || --label->owners > 0)
		return;
	labels = label->labels;
	if (label->elapsed_ns == 0 || labels->ended == LABELS_ENDED_MAX)
		forget(labels, label);
	else
		labels->ended++;
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

/* No time is counted twice, whoever tells late that a process lived. */
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

static int
take_label(struct label *label, int (*take)(void *context, const struct label_time *time), void *context)
{
	const struct label_time time = {
		.text = label->text,
		.begin_ns = label->begin_ns,
		.end_ns = label->since_ns,
		.elapsed_ns = label->elapsed_ns,
	};
	int result = label->elapsed_ns ? take(context, &time) : 0;

	if (!result)
		label->elapsed_ns = 0;
	return result;
}

int
labels_take(struct labels *labels, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
            void *context)
{
	struct label *label, *next;
	int result = 0;

	for (label = labels->all; label; label = next) {
		next = label->hh.next;
		if (label->processes > 0)
			count_until(label, now_ns);
		result = take_label(label, take, context);
		if (result)
			break;
		if (label->owners == 0) {
			labels->ended--;
			forget(labels, label);
		}
	}
	return result;
}
