#include "dcpi-tools/emu/model_options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/options.h"

#define PERIOD_MAX  UINT64_C(1000000000000)
#define QUANTUM_MAX UINT64_C(1000000000000)
#define CPU_SIZE    64 /* the plugin's, which hands it on */

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

static uint32_t
part_of(const struct argp_state *state, const char *word)
{
	const char *names[SETUP_PART_COUNT];

	for (unsigned i = 0; i < SETUP_PART_COUNT; i++)
		names[i] = setup_part_name(i);
	return UINT32_C(1) << options_choice(state, "part of the model", word, names, SETUP_PART_COUNT);
}

static void
take_model(const struct argp_state *state, struct setup *setup, const char *text)
{
	char *words = strdup(text), *rest = words;
	const char *word;

	if (!words) {
		argp_failure(state, 1, 0, "memory ended");
		return;
	}
	setup->parts = 0;
	while ((word = strsep(&rest, ",")))
		setup->parts |= part_of(state, word);
	free(words);
}

static enum setup_event
event_of(const struct argp_state *state, const char *name)
{
	const char *names[SETUP_EVENT_COUNT];

	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		names[i] = setup_event_name(i);
	return options_choice(state, "event", name, names, SETUP_EVENT_COUNT);
}

static void
take_event(const struct argp_state *state, struct model_options *options, const char *text)
{
	char *name = strdup(text), *colon = name ? strrchr(name, ':') : NULL;
	enum setup_event event;

	if (!name) {
		argp_failure(state, 1, 0, "memory ended");
		return;
	}
	if (colon)
		*colon = '\0';
	event = event_of(state, name);
	if (!options->events_chosen)
		memset(options->setup.periods, 0, sizeof(options->setup.periods));
	options->events_chosen = true;
	options->setup.periods[event] = setup_event_period(event);
	if (colon)
		options->setup.periods[event] = options_whole(state, "--event's period", colon + 1, 1, PERIOD_MAX);
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

/* The emulator cuts a plugin's options at commas, and they go on to the programs that are executed later. */
static const char *
without_comma(const struct argp_state *state, const char *option, const char *text, size_t size)
{
	if (!*text || strchr(text, ',') || strlen(text) >= size)
		argp_error(state, "%s takes a name without a comma, shorter than %zu bytes", option, size);
	return text;
}

/* What is asked for must be able to happen; of what is not, nothing is sampled that cannot. */
static void
check(const struct argp_state *state, struct model_options *options)
{
	struct setup *setup = &options->setup;

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
		if (options->events_chosen)
			argp_error(state, "event %s cannot happen: --model leaves out what it needs",
			           setup_event_name(i));
		setup->periods[i] = 0;
	}
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct model_options *options = state->input;
	struct setup *setup = &options->setup;

	switch (key) {
	case KEY_MODEL:
		take_model(state, setup, text);
		return 0;
	case KEY_EVENT:
		take_event(state, options, text);
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
		options->cpu = without_comma(state, "--cpu", text, CPU_SIZE);
		return 0;
	case KEY_PREFIX:
		options->prefix = without_comma(state, "--prefix", text, PATH_MAX);
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp model_options_argp = {.options = entries, .parser = parse_option};

void
model_options_init(struct model_options *options)
{
	memset(options, 0, sizeof(*options));
	setup_init(&options->setup, 1);
}
