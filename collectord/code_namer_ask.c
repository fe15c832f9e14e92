/* One question to dcpi-capture, and its answer: see code_namer.h. */
#include "collectord/code_namer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "capture/protocol.h"
#include "collectord/machine.h"

#define COST_FACTOR  1000 /* so much longer than it took is waited */
#define COST_MAX_NS  UINT64_C(600000000000)
#define FAILURES_MAX 3

/* A question, with copies of all that may change meanwhile. */
struct question {
	struct image image;
	struct code_note note;
	struct request_place *places;
	size_t place_count;
	uint64_t seen;
};

static uint64_t
now_ns(void)
{
	return machine_clock_ns(CLOCK_MONOTONIC);
}

/* All but its image and note. 0 or -ENOMEM. */
static int
make_question(const struct named *named, struct question *question)
{
	const size_t count = named->blocks.count < REQUEST_PLACES_MAX ? named->blocks.count : REQUEST_PLACES_MAX;

	question->places = calloc(count + 1, sizeof(*question->places));
	if (!question->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		question->places[i] = (struct request_place){named->blocks.blocks[i], UINT64_MAX};
	question->place_count = count;
	question->seen = named->seen;
	return 0;
}

static void
question_fini(const struct code_namer *namer, struct question *question)
{
	if (question->note.fd >= 0)
		code_notes_close(namer->options.notes, question->note.fd);
	free(question->places);
	code_namer_free_image(&question->image);
}

/* Without the lock. */
static void
ask(const struct code_namer *namer, const struct question *question, struct capture_outcome *outcome)
{
	const struct capture_request request = {
		.image = question->image,
		.start = question->note.base,
		.end = question->seen,
		.names = true,
		.places = question->places,
		.place_count = question->place_count,
	};
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err = capture_request_encode(&request, &writer);

	memset(outcome, 0, sizeof(*outcome));
	if (err)
		outcome->error = err;
	else
		capture_child_run_with(namer->options.program, &writer, question->note.fd, namer->stop_bell, outcome);
	writer_fini(&writer);
}

/* Memory was used again: the names are the last that this image gets, or those of what is there now from now on. */
static void
settle_reuse(struct code_namer *namer, struct named *named)
{
	if (named->is_retired)
		return;
	named->is_retired = code_notes_renew(namer->options.notes, &named->image);
	if (named->is_retired)
		return;
	named->seen = 0;
	named->is_fresh = true; /* to be asked about again */
}

static void
fail(struct code_namer *namer, struct named *named, int err)
{
	char shown[CODE_NAMER_SHOWN_SIZE];

	named->failures = err == -ETIMEDOUT ? FAILURES_MAX : named->failures + 1;
	if (err != -ECANCELED && named->failures == FAILURES_MAX)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: what it tells of its code cannot be read: %s",
		          escape_text(named->image.path, shown, sizeof(shown)), (unsigned long long)named->image.inode,
		          error_text(err));
}

/* Once each, not whenever the file is read again. */
static void
say_lack(struct code_namer *namer, struct named *named, const struct capture_lack *lack)
{
	char shown[CODE_NAMER_SHOWN_SIZE];

	escape_text(named->image.path, shown, sizeof(shown));
	if (lack->is_cut && !named->is_cut_said)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: it tells more of its code than is read (dcpid(8) has the limits): "
		          "functions that it told last have no names; a new process of the program begins a new file",
		          shown, (unsigned long long)named->image.inode);
	if (lack->misunderstood && !named->is_misunderstood_said)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: what it tells of its code has lines or records that make no sense "
		          "(%llu), which are left out (a jitdump ends there): functions may lack names; look into its "
		          "perf-PID.map or jit-PID.dump",
		          shown, (unsigned long long)named->image.inode, (unsigned long long)lack->misunderstood);
	named->is_cut_said |= lack->is_cut;
	named->is_misunderstood_said |= lack->misunderstood > 0;
}

/* With the lock held. */
static void
take_answer(struct code_namer *namer, struct named *named, const struct question *question,
            struct capture_outcome *outcome)
{
	const bool is_reused = outcome->error == CAPTURE_REUSED;
	uint64_t wait_ns = outcome->cpu_ns * COST_FACTOR;
	struct result *result;

	if (wait_ns > COST_MAX_NS)
		wait_ns = COST_MAX_NS;
	named->due_ns = now_ns() + (wait_ns > CODE_NAMER_WAIT_NS ? wait_ns : CODE_NAMER_WAIT_NS);
	result = outcome->error && !is_reused ? NULL : calloc(1, sizeof(*result));
	if (!result || code_namer_copy_image(&result->image, &named->image)) {
		fail(namer, named, outcome->error ? outcome->error : -ENOMEM);
		capture_outcome_fini(outcome);
		free(result);
		return;
	}
	named->failures = 0;
	say_lack(namer, named, &outcome->reply.lack);
	if (!named->is_retired)
		named->seen = question->note.size;
	if (is_reused)
		settle_reuse(namer, named);
	result->outcome = *outcome;
	result->outcome.reply.captured.parcels = result->outcome.reply.parcels; /* it points into itself */
	result->next = namer->results;
	namer->results = result;
}

bool
code_namer_ask_about(struct code_namer *namer, struct named *named)
{
	struct question question = {.note = {.fd = -1}};
	struct capture_outcome outcome;
	bool asks;
	int err;

	named->due_ns = now_ns() + CODE_NAMER_WAIT_NS;
	if (code_namer_copy_image(&question.image, &named->image))
		return false;
	pthread_mutex_unlock(&namer->lock);
	err = code_notes_open(namer->options.notes, &question.image, &question.note);
	pthread_mutex_lock(&namer->lock);
	asks = !err && (question.note.is_changed || named->is_fresh) && named->failures < FAILURES_MAX;
	if (asks)
		asks = make_question(named, &question) == 0;
	named->is_fresh &= !asks;
	if (asks) {
		pthread_mutex_unlock(&namer->lock);
		ask(namer, &question, &outcome);
		pthread_mutex_lock(&namer->lock);
		take_answer(namer, named, &question, &outcome);
	}
	question_fini(namer, &question);
	return asks;
}
