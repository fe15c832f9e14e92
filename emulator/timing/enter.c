#include "emulator/timing/enter.h"

#include "emulator/timing/hot.h"

typedef const qemu_plugin_vcpu_udata_cb_t enters_by_fetch[EDGE_FETCHES];
typedef enters_by_fetch enters_by_edge[CODE_ENDINGS];

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
	qemu_plugin_vcpu_udata_cb_t any;
	enters_by_edge *alone;  /* NULL: they are not made for this model, */
	enters_by_fetch *loops; /* nor are these */
} state;

#define THREAD_OF(vcpu)    ((struct thread *)(state.threads + ((vcpu) << THREAD_SHIFT)))
#define FIRST_THREAD(vcpu) ((void)(vcpu), (struct thread *)state.threads)

/* By an edge of any kind. */
#define GO(name, parts)                                                                                                \
	static SLOW void go_by_kind_##name(struct thread *thread, struct edge *edge)                                   \
	{                                                                                                              \
		hot_go(thread, edge, parts, edge->kind.ending, edge->kind.fetch);                                      \
	}                                                                                                              \
	static SLOW void go_##name(struct thread *thread, struct edge *edge)                                           \
	{                                                                                                              \
		hot_go_any(thread, edge, parts, go_by_kind_##name);                                                    \
	}

#define ENTER(name, parts)                                                                                             \
	GO(name, parts)                                                                                                \
	static void enter_##name(unsigned vcpu, void *data)                                                            \
	{                                                                                                              \
		struct thread *thread = THREAD_OF(vcpu);                                                               \
		struct code *code = data;                                                                              \
                                                                                                                       \
		if (HOT_LIKELY(edge_is_from(&code->edge, thread->edge)))                                               \
			hot_go_any(thread, &code->edge, parts, go_by_kind_##name);                                     \
		else                                                                                                   \
			hot_enter_otherwise(thread, code, go_##name);                                                  \
	}

#define CLOCK_IN_ORDER (SETUP_CLOCK | HOT_IN_ORDER)
#define HISTORY        (SETUP_BRANCHES | HOT_HISTORY)

/* Without caches, and with them. */
#define ENTERS(name, parts)                                                                                            \
	ENTER(name, parts)                                                                                             \
	ENTER(caches_##name, (parts) | SETUP_CACHES)

ENTERS(counts, 0)
ENTERS(branches, SETUP_BRANCHES)
ENTERS(history, HISTORY)
ENTERS(clock, SETUP_CLOCK)
ENTERS(branches_clock, SETUP_BRANCHES | SETUP_CLOCK)
ENTERS(history_clock, HISTORY | SETUP_CLOCK)
ENTERS(in_order, CLOCK_IN_ORDER)
ENTERS(branches_in_order, SETUP_BRANCHES | CLOCK_IN_ORDER)
ENTERS(history_in_order, HISTORY | CLOCK_IN_ORDER)

/* By the first edge, whose kind is known. */
#define BY_FIRST(who, thread_of, name, kind, parts, ending, fetch)                                                     \
	static void who##_##kind##_##name(unsigned vcpu, void *data)                                                   \
	{                                                                                                              \
		struct thread *thread = thread_of(vcpu);                                                               \
		struct code *code = data;                                                                              \
                                                                                                                       \
		if (HOT_LIKELY(edge_is_from(&code->edge, thread->edge)))                                               \
			hot_go(thread, &code->edge, parts, ending, fetch);                                             \
		else                                                                                                   \
			hot_enter_otherwise(thread, code, go_##name);                                                  \
	}

#define FETCHES(who, thread_of, name, kind, parts, ending)                                                             \
	BY_FIRST(who, thread_of, name, kind##_nothing, parts, ending, EDGE_FETCHES_NOTHING)                            \
	BY_FIRST(who, thread_of, name, kind##_line, parts, ending, EDGE_FETCHES_LINE)                                  \
	BY_FIRST(who, thread_of, name, kind##_line_of_page, parts, ending, EDGE_FETCHES_LINE_OF_PAGE)                  \
	BY_FIRST(who, thread_of, name, kind##_two, parts, ending, EDGE_FETCHES_TWO)                                    \
	BY_FIRST(who, thread_of, name, kind##_any, parts, ending, EDGE_FETCHES_ANY)

#define BY_FETCH(who, name, kind)                                                                                      \
	{                                                                                                              \
		[EDGE_FETCHES_NOTHING] = who##_##kind##_nothing_##name,                                                \
		[EDGE_FETCHES_LINE] = who##_##kind##_line_##name,                                                      \
		[EDGE_FETCHES_LINE_OF_PAGE] = who##_##kind##_line_of_page_##name,                                      \
		[EDGE_FETCHES_TWO] = who##_##kind##_two_##name, [EDGE_FETCHES_ANY] = who##_##kind##_any_##name,        \
	}

/* When the first thread is alone. */
#define ALONE_FETCHES(name, kind, parts, ending) FETCHES(alone, FIRST_THREAD, name, kind, parts, ending)

#define ALONES(name, parts)                                                                                            \
	ALONE_FETCHES(name, plainly, parts, CODE_ENDS_PLAINLY)                                                         \
	ALONE_FETCHES(name, branch, parts, CODE_BRANCHES)                                                              \
	ALONE_FETCHES(name, call, parts, CODE_CALLS)                                                                   \
	ALONE_FETCHES(name, returning, parts, CODE_RETURNS)                                                            \
	ALONE_FETCHES(name, jump, parts, CODE_JUMPS_ANYWHERE)                                                          \
	ALONE_FETCHES(name, call_anywhere, parts, CODE_CALLS_ANYWHERE)                                                 \
	static enters_by_edge alone_##name = {                                                                         \
		[CODE_ENDS_PLAINLY] = BY_FETCH(alone, name, plainly),                                                  \
		[CODE_BRANCHES] = BY_FETCH(alone, name, branch),                                                       \
		[CODE_CALLS] = BY_FETCH(alone, name, call),                                                            \
		[CODE_RETURNS] = BY_FETCH(alone, name, returning),                                                     \
		[CODE_JUMPS_ANYWHERE] = BY_FETCH(alone, name, jump),                                                   \
		[CODE_CALLS_ANYWHERE] = BY_FETCH(alone, name, call_anywhere),                                          \
	};

/* Loops, which go on by a branch, of any thread. */
#define LOOPS(name, parts)                                                                                             \
	FETCHES(loop, THREAD_OF, name, branch, parts, CODE_BRANCHES)                                                   \
	static enters_by_fetch loops_##name = BY_FETCH(loop, name, branch);

#define KNOWN(name, parts)                                                                                             \
	ALONES(name, parts)                                                                                            \
	LOOPS(name, parts)

/* With all that there is. */
KNOWN(caches_branches_clock, SETUP_CACHES | SETUP_BRANCHES | SETUP_CLOCK)
KNOWN(caches_history_clock, SETUP_CACHES | HISTORY | SETUP_CLOCK)
KNOWN(caches_branches_in_order, SETUP_CACHES | SETUP_BRANCHES | CLOCK_IN_ORDER)
KNOWN(caches_history_in_order, SETUP_CACHES | HISTORY | CLOCK_IN_ORDER)

#define BOTH(name) enter_##name, enter_caches_##name

void
enter_init(const struct timing *timing)
{
	/* by clock, predictor and caches */
	static const qemu_plugin_vcpu_udata_cb_t any[] = {
		BOTH(counts),   BOTH(branches),          BOTH(history),
		BOTH(clock),    BOTH(branches_clock),    BOTH(history_clock),
		BOTH(in_order), BOTH(branches_in_order), BOTH(history_in_order),
	};
	/* by order and predictor, with caches */
	static enters_by_edge *const alone[2][2] = {
		{&alone_caches_branches_clock, &alone_caches_history_clock},
		{&alone_caches_branches_in_order, &alone_caches_history_in_order},
	};
	static enters_by_fetch *const loops[2][2] = {
		{&loops_caches_branches_clock, &loops_caches_history_clock},
		{&loops_caches_branches_in_order, &loops_caches_history_in_order},
	};
	const uint32_t all = SETUP_CACHES | SETUP_BRANCHES | SETUP_CLOCK;
	const uint32_t parts = hot_parts(timing);
	const unsigned clock = parts & HOT_IN_ORDER ? 2 : parts & SETUP_CLOCK ? 1 : 0;
	const unsigned predictor = parts & HOT_HISTORY ? 2 : parts & SETUP_BRANCHES ? 1 : 0;

	state.threads = timing->threads;
	state.any = any[(3 * clock + predictor) * 2 + (parts & SETUP_CACHES ? 1 : 0)];
	state.alone = (parts & all) == all ? alone[parts & HOT_IN_ORDER ? 1 : 0][parts & HOT_HISTORY ? 1 : 0] : NULL;
	state.loops = (parts & all) == all ? loops[parts & HOT_IN_ORDER ? 1 : 0][parts & HOT_HISTORY ? 1 : 0] : NULL;
}

qemu_plugin_vcpu_udata_cb_t
enter_any(const struct code *code)
{
	struct edge_kind kind;

	if (!state.loops || !code->is_loop)
		return state.any;
	kind = edges_kind(code, code);
	return kind.ending == CODE_BRANCHES ? (*state.loops)[kind.fetch] : state.any;
}

qemu_plugin_vcpu_udata_cb_t
enter_alone(struct timing *timing, struct code *code)
{
	struct edge_kind kind;

	if (!state.alone)
		return state.any;
	if (!code->is_loop && !edge_is_made(&code->edge))
		edges_make(timing, timing_thread(timing, 0)->edge, code);
	kind = code->is_loop ? edges_kind(code, code) : code->edge.kind;
	return (*state.alone)[kind.ending][kind.fetch];
}
