#include "dcpi-tools/emu/command.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"

#define WHY_SIZE    512
#define PERIOD_MAX  UINT64_C(1000000000000)
#define QUANTUM_MAX UINT64_C(1000000000000)
#define CPU_SIZE    64 /* the plugin's, which hands it on */
#define NUMBER_SIZE 16

enum model_key {
	KEY_MODEL = OPTIONS_KEYS_END + 0x100,
	KEY_EVENT,
	KEY_NO_SAMPLES,
	KEY_QUANTUM,
	KEY_SEED,
	KEY_DELAY,
	KEY_DILATION,
	KEY_CPU,
	KEY_PREFIX,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is modelled:", 20},
	{"model", KEY_MODEL, "PART[,...]", 0,
         "Only these: counts, caches, tlbs, branches, clock, samples, truth (all of them)", 20},
	{"quantum", KEY_QUANTUM, "CYCLES", 0,
         "A thread is ahead of the slowest by at most CYCLES (100000); 0: no bound", 20},
	{"delay", KEY_DELAY, "none|real", 0, "real: spend the stalls on this machine, too, in proportion", 20},
	{"dilation", KEY_DILATION, "FACTOR", 0,
         "With --delay real: a second there takes FACTOR here (as long as the emulator takes by itself)", 20},
	{"seed", KEY_SEED, "N", 0, "Begin all random numbers with N (1), also those the program gets from the kernel",
         20},
	{NULL, 0, NULL, 0, "What is sampled:", 21},
	{"event", KEY_EVENT, "EVENT[:PERIOD]", 0,
         "Only this event, and others named so; a sample in PERIOD of them on average", 21},
	{"no-samples", KEY_NO_SAMPLES, NULL, 0, "Nothing", 21},
	{NULL, 0, NULL, 0, "How the program is run:", 22},
	{"cpu", KEY_CPU, "CPU", 0, "Instruction sets that it finds, as qemu -cpu names them", 22},
	{"prefix", KEY_PREFIX, "DIR", 0, "Where its libraries are, of another architecture", 22},
	{0},
};

static void
take_model(const struct argp_state *state, struct setup *setup, const char *text)
{
	const char *names[SETUP_PART_COUNT], *word;
	char *words = strdup(text), *rest = words;

	if (!words) {
		argp_failure(state, 1, 0, "memory ended");
		return;
	}
	for (unsigned i = 0; i < SETUP_PART_COUNT; i++)
		names[i] = setup_part_name(i);
	setup->parts = 0;
	while ((word = strsep(&rest, ",")))
		setup->parts |= UINT32_C(1)
		                << options_choice(state, "part of the model", word, names, SETUP_PART_COUNT);
	free(words);
}

static void
take_event(const struct argp_state *state, struct command_request *request, const char *text)
{
	char *name = strdup(text), *colon = name ? strrchr(name, ':') : NULL;
	const char *names[SETUP_EVENT_COUNT];
	enum setup_event event;

	if (!name) {
		argp_failure(state, 1, 0, "memory ended");
		return;
	}
	if (colon)
		*colon = '\0';
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		names[i] = setup_event_name(i);
	event = options_choice(state, "event", name, names, SETUP_EVENT_COUNT);
	if (!request->events_chosen)
		memset(request->setup.periods, 0, sizeof(request->setup.periods));
	request->events_chosen = true;
	request->setup.periods[event] = setup_event_period(event);
	if (colon)
		request->setup.periods[event] = options_whole(state, "--event's period", colon + 1, 1, PERIOD_MAX);
	free(name);
}

static void
take_delay(const struct argp_state *state, struct setup *setup, const char *text)
{
	if (strcmp(text, "real") == 0)
		setup->delay = DELAY_REAL;
	else if (strcmp(text, "none") == 0)
		setup->delay = DELAY_NONE;
	else
		argp_error(state, "--delay takes 'none' or 'real'");
}

/* The emulator separates a plugin's options by commas; programs that are executed later get them, too. */
static const char *
without_comma(const struct argp_state *state, const char *option, const char *text, size_t size)
{
	if (!*text || strchr(text, ',') || strlen(text) >= size)
		argp_error(state, "%s takes a name without a comma, shorter than %zu bytes", option, size);
	return text;
}

/* An event that was asked for must be able to occur in the model; one of the defaults that cannot is not sampled. */
static void
check_model(const struct argp_state *state, struct command_request *request)
{
	struct setup *setup = &request->setup;

	if (setup->delay == DELAY_REAL && !(setup->parts & SETUP_CLOCK))
		argp_error(state, "--delay real needs the clock in --model");
	if (setup->dilation > 0 && setup->delay != DELAY_REAL)
		argp_error(state, "--dilation goes with --delay real");
	if (setup->parts & SETUP_TRUTH && !(setup->parts & SETUP_CLOCK))
		argp_error(state, "truth is of stalls: it needs the clock in --model");
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		const uint32_t needed = SETUP_SAMPLES | setup_event_parts(i);

		if (!setup->periods[i] || (setup->parts & needed) == needed)
			continue;
		if (request->events_chosen)
			argp_error(state, "event %s cannot happen: --model leaves out what it needs",
			           setup_event_name(i));
		setup->periods[i] = 0;
	}
}

static const char *
name_of(int key)
{
	for (const struct argp_option *entry = entries; entry->name || entry->doc; entry++)
		if (entry->key == key)
			return entry->name;
	return NULL;
}

static error_t
parse_model(int key, char *text, struct argp_state *state)
{
	struct command_request *request = state->input;
	struct setup *setup = &request->setup;

	if (key >= KEY_MODEL && key <= KEY_PREFIX)
		request->model_option = name_of(key);
	switch (key) {
	case KEY_MODEL:
		take_model(state, setup, text);
		return 0;
	case KEY_EVENT:
		take_event(state, request, text);
		return 0;
	case KEY_NO_SAMPLES:
		setup->parts &= ~(uint32_t)SETUP_SAMPLES;
		return 0;
	case KEY_QUANTUM:
		setup->quantum_cycles = options_whole(state, "--quantum", text, 0, QUANTUM_MAX);
		return 0;
	case KEY_SEED:
		setup->seed = options_whole(state, "--seed", text, 0, UINT32_MAX);
		return 0;
	case KEY_DELAY:
		take_delay(state, setup, text);
		return 0;
	case KEY_DILATION:
		setup->dilation = options_number(state, "--dilation", text, 1, 1e6);
		return 0;
	case KEY_CPU:
		request->cpu = without_comma(state, "--cpu", text, CPU_SIZE);
		return 0;
	case KEY_PREFIX:
		request->prefix = without_comma(state, "--prefix", text, PATH_MAX);
		return 0;
	case ARGP_KEY_END:
		check_model(state, request);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * argp shows a child that has a group as a cluster of its own, below the command's options of that group: --help has
 * --db below --label.
 */
static error_t
parse_run(int key, char *text, struct argp_state *state)
{
	struct command_request *request = state->input;

	if (key != ARGP_KEY_INIT)
		return parse_model(key, text, state);
	state->child_inputs[0] = &request->options;
	return 0;
}

static const struct argp_child run_children[] = {
	{&options_database, 0, NULL, 2},
	{0},
};

const struct argp command_run_options = {.options = entries, .parser = parse_run, .children = run_children};

static error_t
parse_sweep(int key, char *text, struct argp_state *state)
{
	struct command_request *request = state->input;

	if (key != ARGP_KEY_INIT)
		return parse_model(key, text, state);
	for (size_t i = 0; i < 3; i++)
		state->child_inputs[i] = &request->options;
	return 0;
}

static const struct argp_child sweep_children[] = {
	{&options_database, 0, NULL, 2},
	{&options_output, 0, NULL, 4},
	{&options_table, 0, NULL, 4},
	{0},
};

const struct argp command_sweep_options = {.options = entries, .parser = parse_sweep, .children = sweep_children};

void
command_take_program(void *member, char *text, struct argp_state *state)
{
	(void)text;
	*(char ***)member = options_program(state);
}

void
command_refuse_argument(void *request, char *text, struct argp_state *state)
{
	const char *space = strrchr(state->name, ' ');

	(void)request;
	argp_error(state, "%s takes no argument: %s", space ? space + 1 : state->name, text);
}

int
command_choose_machine(const char *choice, struct setup *setup)
{
	char why[WHY_SIZE] = "";
	int err = machine_choose(choice, &setup->machine, &setup->pipeline, why, sizeof(why));

	if (!err)
		return STATUS_OK;
	message_print(NULL, "%s%s", why[0] ? why : error_text(err),
	              strcmp(choice, "host") == 0 ? "; 'dcpiemu calibrate' describes this one as host" : "");
	return error_exit_status(err);
}

/* ---- One run ---- */

void
command_take_threads(void *member, char *text, struct argp_state *state)
{
	*(unsigned *)member = (unsigned)options_whole(state, "--threads", text, 1, MACHINE_CORES_MAX);
}

void
command_check_kept(const struct command_request *request, struct argp_state *state)
{
	if (request->without_database && request->label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
}

void
command_check_once(const struct command_once *once, const char *title, struct argp_state *state)
{
	if (!once->machine)
		argp_error(state, "as if on which machine? --machine NAME; 'dcpiemu machines' lists those described");
	if (!once->common.command)
		argp_error(state, "which program? %s --machine NAME -- PROGRAM [ARGUMENT]...", title);
	command_check_kept(&once->common, state);
}

int
command_choose_once(struct command_once *once)
{
	struct setup *setup = &once->common.setup;
	int status = command_choose_machine(once->machine, setup);

	if (status)
		return status;
	setup->threads = once->threads ? once->threads : setup->machine.cores;
	if (setup->threads <= setup->machine.cores)
		return STATUS_OK;
	message_print(once->machine, "it has %u core%s: --threads takes 1 to %u", setup->machine.cores,
	              text_plural(setup->machine.cores), setup->machine.cores);
	return STATUS_USAGE;
}

int
command_open_report(const struct command_once *once, struct atomic_file *file)
{
	int err;

	*file = (struct atomic_file){.stream = stderr};
	if (!once->output)
		return STATUS_OK;
	err = atomic_file_open(file, once->output);
	return err ? message_cannot(once->output, "write the report", err, NULL) : STATUS_OK;
}

int
command_close_report(const struct command_once *once, struct atomic_file *file, int err)
{
	const bool has_report = err != -ECANCELED;

	if (once->output)
		err = atomic_file_close(file, err);
	if (!err || !has_report)
		return STATUS_OK;
	return message_cannot(once->output ? once->output : "standard error", "write the report", err, NULL);
}

/* ---- Numbers of threads ---- */

/* A number at *at, which moves behind it. 0: none. */
static unsigned
read_number(const char **at)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)**at))
		return 0;
	errno = 0;
	number = strtoul(*at, &end, 10);
	*at = end;
	return errno || number > MACHINE_CORES_MAX ? 0 : (unsigned)number;
}

/* "4", "4..8", "4.." at *at. */
static int
read_range(const char **at, struct thread_list *list)
{
	unsigned first = read_number(at), last = first;

	if (strncmp(*at, "..", 2) == 0) {
		*at += 2;
		last = isdigit((unsigned char)**at) ? read_number(at) : MACHINE_CORES_MAX;
		if (last < MACHINE_CORES_MAX && last > list->most)
			list->most = last;
	}
	if (first == 0 || last < first)
		return -EINVAL;
	if (first > list->most)
		list->most = first;
	for (unsigned i = first; i <= last; i++)
		list->wanted[i] = true;
	return 0;
}

int
thread_list_parse(const char *text, struct thread_list *list)
{
	int err;

	memset(list, 0, sizeof(*list));
	for (;;) {
		err = read_range(&text, list);
		if (err || *text != ',')
			break;
		text++;
	}
	return err || *text ? -EINVAL : 0;
}

static const char *const variables[] = {
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS", "RAYON_NUM_THREADS",
};

int
thread_count_announce(unsigned threads)
{
	char number[NUMBER_SIZE];

	snprintf(number, sizeof(number), "%u", threads);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (setenv(variables[i], number, 1) < 0)
			return -errno;
	return 0;
}

/* A copy of an argument with the number in the place of each %t; NULL when memory ends. */
static char *
insert_number(const char *argument, const char *number)
{
	char *text = malloc(strlen(argument) * strlen(number) + 1), *end = text;

	if (!text)
		return NULL;
	for (; *argument; argument++) {
		if (argument[0] == '%' && argument[1] == 't') {
			end = stpcpy(end, number);
			argument++;
		} else {
			argument += argument[0] == '%' && argument[1] == '%';
			*end++ = *argument;
		}
	}
	*end = '\0';
	return text;
}

char **
thread_count_insert(char *const *arguments, unsigned threads)
{
	char number[NUMBER_SIZE], **copy;
	size_t count = 0;

	snprintf(number, sizeof(number), "%u", threads);
	while (arguments[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = insert_number(arguments[i], number);
		if (!copy[i]) {
			thread_count_free(copy);
			return NULL;
		}
	}
	return copy;
}

void
thread_count_free(char **arguments)
{
	for (size_t i = 0; arguments && arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}
