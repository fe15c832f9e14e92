#include "memory/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What makes a verdict. Shares are in percent. */
#define WORTH          1    /* of the run that an object must cost, */
#define WORTH_SAMPLES  16   /* and samples that it must have, */
#define WORTH_PAGES_KB 512  /* and, where a page is all that is known, KiB of pages: caches may serve fewer */
#define MOST_FALSE     50   /* of the cycles of transfers: for bytes that nobody else wrote */
#define MOST_FAR       50   /* of the cycles of transfers: from another node */
#define REMOTE_LEAST   20   /* of what memory serves: is remote */
#define SINGLE_USER    85   /* of the accesses that memory serves: from one node, or by one thread */
#define READ_MOSTLY    3    /* of the accesses since a second node came: stores */
#define SURELY_READ    1    /* of the words that were watched since then: written, at most, by the rule of three */
#define RULE_OF_THREE  3    /* words more than were seen to be written may be, of those that were watched (95 %) */
#define COPY_PASSES    2    /* over an object, that a node reads from elsewhere, at least, for a copy to pay */
#define SEVERAL_NODES  10   /* of a thread's accesses: from another node than most */
#define SPLIT_SHARED   10   /* of falsely shared cycles: bytes that several threads read and nobody writes */
#define PHASES         16   /* into which the life of an object is cut, each with as many samples */
#define PHASE_SINGLE   90   /* of a phase: from one node */
#define PHASE_SWITCHES 8    /* from node to node, at most */
#define PHASE_NODE     25   /* of the phases that another node than the first must have */
#define FIRST_PASSES   2    /* over an object, by the thread that made it, before others came: that fills it */
#define PARTS_MOST     256  /* into which an object is cut to find whether nodes use parts of it of their own, */
#define PART_SAMPLES   16   /* each with so many samples on average, */
#define PART_BYTES     4096 /* and at least a page of this size */

static const char *const verdict_texts[VERDICTS] = {
	[VERDICT_NOTHING] = "nothing",
	[VERDICT_REPLICATE] = "replicate",
	[VERDICT_INTERLEAVE] = "interleave",
	[VERDICT_LOCAL] = "local",
	[VERDICT_PIN] = "pin",
	[VERDICT_MIGRATE] = "migrate",
	[VERDICT_PAD] = "pad",
	[VERDICT_SPLIT] = "split",
};

const char *
verdict_text(enum memory_verdict verdict)
{
	return (unsigned)verdict < VERDICTS ? verdict_texts[verdict] : "?";
}

/* Whether `part` is `percent` of `whole`, or more. */
static bool
is_share(uint64_t part, uint64_t whole, unsigned percent)
{
	return whole && (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

double
memory_report_share(const struct memory_report *report, uint64_t cycles)
{
	return report->base_cycles ? (double)cycles / (double)report->base_cycles : 0;
}

/* ---- the accesses of an object ---- */

const struct memory_access *
memory_member_access(const struct memory_report *report, const struct memory_member *member, uint32_t index)
{
	return &report->profile->accesses[report->order[member->first + index]];
}

/*
 * What an access waits because memory is far or busy. A prefetch is late for no other reason, so all that waits for one
 * counts.
 */
static uint64_t
excess_of(const struct memory_profile *profile, const struct memory_access *access)
{
	const uint64_t local = profile->totals.local_cycles, cost = (uint64_t)access->weight * access->cost;

	if (access->level == MEMORY_PREFETCHED)
		return cost;
	return access->level == MEMORY_DRAM && access->cycles > local ? cost * (access->cycles - local) / access->cycles
	                                                              : 0;
}

static void
add_access(const struct memory_profile *profile, struct memory_evidence *evidence, const struct memory_access *access)
{
	const uint64_t weight = access->weight;

	if (access->level == MEMORY_OWN)
		return;
	evidence->samples++;
	evidence->accesses += weight;
	evidence->cycles += weight * access->cost;
	evidence->stores += access->flags & MEMORY_STORE ? weight : 0;
	evidence->excess_cycles += excess_of(profile, access);
	if (access->flags & MEMORY_TRANSFER) {
		evidence->transfers += weight;
		evidence->transfer_cycles += weight * access->cost;
		evidence->far_cycles += access->flags & MEMORY_FAR ? weight * access->cost : 0;
	}
	if (memory_access_is_of_memory(access)) {
		evidence->memory += weight;
		evidence->remote += memory_access_is_remote(access) ? weight : 0;
		evidence->from_node[access->node] += weight;
		evidence->to_node[access->page_node] += weight;
	}
}

static void
add_evidence(struct memory_evidence *sum, const struct memory_evidence *more)
{
	sum->samples += more->samples;
	sum->accesses += more->accesses;
	sum->cycles += more->cycles;
	sum->stores += more->stores;
	sum->excess_cycles += more->excess_cycles;
	sum->transfers += more->transfers;
	sum->transfer_cycles += more->transfer_cycles;
	sum->far_cycles += more->far_cycles;
	sum->false_cycles += more->false_cycles;
	sum->memory += more->memory;
	sum->remote += more->remote;
	sum->avoidable_by_pinning += more->avoidable_by_pinning;
	sum->avoidable_by_allocation += more->avoidable_by_allocation;
	sum->of_parts += more->of_parts;
	sum->by_maker += more->by_maker;
	sum->before_others += more->before_others;
	sum->used += more->used;
	sum->used_remote += more->used_remote;
	sum->late += more->late;
	sum->late_stores += more->late_stores;
	sum->late_written += more->late_written;
	sum->late_watched += more->late_watched;
	sum->pages += more->pages;
	sum->threads = more->threads > sum->threads ? more->threads : sum->threads;
	for (unsigned i = 0; i < MEMORY_NODES_MAX; i++) {
		sum->from_node[i] += more->from_node[i];
		sum->to_node[i] += more->to_node[i];
	}
}

static unsigned
most_of(const uint64_t counts[MEMORY_NODES_MAX])
{
	unsigned most = 0;

	for (unsigned i = 1; i < MEMORY_NODES_MAX; i++)
		most = counts[i] > counts[most] ? i : most;
	return most;
}

/* `part` of `whole` accesses. */
struct access_share {
	uint64_t part, whole;
};

/*
 * How much of the memory is on one node, of that which has most. Where it is not known on which nodes remote memory is,
 * threads of a node know how much of what they use is on theirs.
 */
static struct access_share
most_on_a_node(const uint64_t from_node[MEMORY_NODES_MAX], const uint64_t to_node[MEMORY_NODES_MAX], uint64_t memory,
               unsigned *node)
{
	struct access_share most = {0, 1};

	*node = 0;
	for (unsigned i = 0; i < MEMORY_NODE_HERE; i++) {
		const struct access_share share = {to_node[i], to_node[MEMORY_NODE_AWAY] ? from_node[i] : memory};

		if (!share.part || (to_node[MEMORY_NODE_AWAY] && !is_share(from_node[i], memory, SEVERAL_NODES)) ||
		    (unsigned __int128)share.part * most.whole <= (unsigned __int128)most.part * share.whole)
			continue;
		most = share;
		*node = i;
	}
	return most;
}

static uint64_t
sum_of(const uint64_t counts[MEMORY_NODES_MAX])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MEMORY_NODES_MAX; i++)
		sum += counts[i];
	return sum;
}

/* ---- threads that use an object ---- */

struct object_user {
	uint32_t thread;
	uint64_t memory; /* accesses that memory served */
	uint64_t remote;
	uint64_t from_node[MEMORY_NODES_MAX];
};

struct user_list {
	struct object_user *users;
	size_t count, room;
	uint32_t first_use;                                                              /* of the object's accesses */
	uint64_t memory, remote, from_node[MEMORY_NODES_MAX], to_node[MEMORY_NODES_MAX]; /* since then */
};

/* NULL: no memory. */
static struct object_user *
find_user(struct user_list *list, uint32_t thread)
{
	struct object_user *user;

	for (size_t i = list->count; i-- > 0;) {
		if (list->users[i].thread == thread)
			return &list->users[i];
	}
	user = ARRAY_APPEND(list->users, list->count, list->room);
	if (user)
		*user = (struct object_user){.thread = thread};
	return user;
}

/* What an access is known to be of: a line, or a page. */
static uint64_t
unit_bytes(const struct memory_profile *profile)
{
	return profile->totals.counts && profile->totals.page_bytes ? profile->totals.page_bytes
	                                                            : memory_profile_line_bytes(profile);
}

static uint64_t
units_of(const struct memory_profile *profile, const struct memory_member *member)
{
	return profile->objects[member->object].size / unit_bytes(profile) + 1;
}

/*
 * The first access that is not of filling the object: those of the thread that made it, or was first, until another one
 * comes, if they are no more than some passes over it.
 */
static uint32_t
first_use(const struct memory_report *report, const struct memory_member *member)
{
	const uint64_t units = units_of(report->profile, member);
	const uint32_t thread = memory_member_access(report, member, 0)->thread;
	uint64_t weight = 0;
	uint32_t at = 0;

	for (; at < member->count && memory_member_access(report, member, at)->thread == thread; at++)
		weight += memory_member_access(report, member, at)->weight;
	return at < member->count && weight <= FIRST_PASSES * units ? at : 0;
}

static int
list_users(const struct memory_report *report, const struct memory_member *member, struct user_list *list)
{
	for (uint32_t i = list->first_use; i < member->count; i++) {
		const struct memory_access *access = memory_member_access(report, member, i);
		struct object_user *user = find_user(list, access->thread);

		if (!user)
			return -ENOMEM;
		if (!memory_access_is_of_memory(access))
			continue;
		user->memory += access->weight;
		user->remote += memory_access_is_remote(access) ? access->weight : 0;
		user->from_node[access->node] += access->weight;
		list->memory += access->weight;
		list->remote += memory_access_is_remote(access) ? access->weight : 0;
		list->from_node[access->node] += access->weight;
		list->to_node[access->page_node] += access->weight;
	}
	return 0;
}

static bool
has_moved(const struct object_user *user)
{
	const uint64_t here = user->from_node[most_of(user->from_node)];

	return user->memory && is_share(user->memory - here, user->memory, SEVERAL_NODES);
}

static const struct object_user *
main_user(const struct user_list *list)
{
	const struct object_user *most = list->users;

	for (size_t i = 1; i < list->count; i++)
		most = list->users[i].memory > most->memory ? &list->users[i] : most;
	return most;
}

/* ---- lines that are shared falsely ---- */

int
memory_member_bytes(const struct memory_report *report, const struct memory_member *member, struct shared_byte **bytes,
                    size_t *count)
{
	return shared_bytes_list(report->profile, report->order + member->first, member->count, bytes, count);
}

/* Sum up the cycles of transfers in falsely shared lines; *of_shared: those for bytes that several threads read. */
static int
sum_false(const struct memory_report *report, struct memory_member *member, uint64_t *of_shared)
{
	struct shared_byte *bytes;
	size_t count;
	int err;

	*of_shared = 0;
	if (!member->evidence.transfers)
		return 0;
	err = memory_member_bytes(report, member, &bytes, &count);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (!bytes[i].is_false)
			continue;
		member->evidence.false_cycles += bytes[i].cycles;
		*of_shared += bytes[i].readers > 1 ? bytes[i].cycles : 0;
	}
	free(bytes);
	return 0;
}

/* ---- phases ---- */

/*
 * Where a phase of its life begins, among its accesses. Faults come in bursts, one for each page whenever NUMA
 * balancing has been there, so their phases are of equal times, not of equally many.
 */
static uint32_t
begin_of_phase(const struct memory_report *report, const struct memory_member *member, uint32_t first, uint32_t phase)
{
	const uint64_t count = member->count - first;
	uint64_t begin, span;
	uint32_t at = first;

	if (!report->profile->totals.counts || phase == PHASES)
		return first + (uint32_t)(count * phase / PHASES);
	begin = memory_member_access(report, member, first)->time_ns;
	span = memory_member_access(report, member, member->count - 1)->time_ns - begin;
	while (at < member->count && memory_member_access(report, member, at)->time_ns < begin + span / PHASES * phase)
		at++;
	return at;
}

/* How often its user's node changes, if one node after the other uses it, each for long; else 0. */
static unsigned
count_turns(const struct memory_report *report, const struct memory_member *member, uint32_t first)
{
	unsigned phases_of[MEMORY_NODES_MAX] = {0}, switches = 0, before = MEMORY_NODES_MAX, users = 0;
	const uint64_t count = member->count - first;

	if (count < PHASES * PHASES)
		return 0;
	for (uint32_t phase = 0; phase < PHASES; phase++) {
		const uint32_t from = begin_of_phase(report, member, first, phase);
		const uint32_t to = begin_of_phase(report, member, first, phase + 1);
		uint64_t nodes[MEMORY_NODES_MAX] = {0};
		unsigned most;

		for (uint32_t i = from; i < to; i++)
			nodes[memory_member_access(report, member, i)->node] +=
				memory_member_access(report, member, i)->weight;
		most = most_of(nodes);
		if (!is_share(nodes[most], sum_of(nodes), PHASE_SINGLE))
			continue; /* a change is within it */
		switches += before != MEMORY_NODES_MAX && most != before;
		before = most;
		phases_of[most]++;
	}
	for (unsigned i = 0; i < MEMORY_NODES_MAX; i++)
		users += is_share(phases_of[i], PHASES, PHASE_NODE);
	return users > 1 && switches <= PHASE_SWITCHES ? switches : 0;
}

/* ---- an object's verdict ---- */

static void
count_since_others(const struct memory_report *report, struct memory_member *member, uint32_t first)
{
	const struct memory_object *object = &report->profile->objects[member->object];
	const unsigned first_node = memory_member_access(report, member, 0)->node;
	bool others = false, nodes = false;
	uint64_t since = UINT64_MAX;

	for (uint32_t i = 0; i < member->count; i++) {
		const struct memory_access *access = memory_member_access(report, member, i);

		others |= access->thread != object->thread;
		if (!nodes && i >= first && access->node != first_node) {
			nodes = true;
			since = access->time_ns;
		}
		if (access->thread == object->thread) {
			member->evidence.by_maker += access->weight;
			member->evidence.before_others += others ? 0 : access->weight;
		}
		if (nodes) {
			member->evidence.late += access->weight;
			member->evidence.late_stores += access->flags & MEMORY_STORE ? access->weight : 0;
			member->evidence.late_written += access->flags & MEMORY_STORE ? 1 : 0;
		}
	}
	for (uint32_t i = 0; i < member->watched; i++)
		member->evidence.late_watched +=
			memory_member_access(report, member, member->count + i)->time_ns >= since;
}

/* Whether several processes have threads, and those of this object's that access anything would fit on one node. */
static bool
fits_on_a_node(const struct memory_report *report, const struct memory_member *member)
{
	const struct memory_profile *profile = report->profile;
	const uint32_t process = profile->objects[member->object].process;
	uint64_t threads = 0;
	bool others = false;

	for (size_t i = 0; i < profile->thread_count; i++) {
		threads += report->is_user[i] && profile->threads[i].process == process;
		others |= profile->threads[i].process != process;
	}
	return others && profile->totals.node_cores && threads <= profile->totals.node_cores + 1;
}

/*
 * Whether nodes read it from elsewhere often enough to make a copy, which reads all of it from there once, on each. Of
 * accesses that are pages' faults it is not known how many they stand for.
 */
static bool
pays_copies(const struct memory_report *report, const struct memory_member *member, const struct user_list *list)
{
	uint64_t copies = 0;

	for (unsigned i = 0; i < MEMORY_NODES_MAX; i++)
		copies += i != most_of(list->to_node) && is_share(list->from_node[i], list->memory, SEVERAL_NODES);
	return report->profile->totals.counts ||
	       list->remote >= COPY_PASSES * copies * units_of(report->profile, member);
}

/*
 * Whether it is read alone since it was filled, or nearly so. Of most faults it is not known what their thread did
 * next: random words of its pages are watched, and of those that were not watched as many may be written. So too few
 * words that were watched do not prove that it is read alone.
 */
static bool
is_read_mostly(const struct memory_report *report, const struct memory_evidence *evidence)
{
	if (report->profile->totals.counts)
		return ((uint64_t)evidence->late_written + RULE_OF_THREE) * 100 <=
		       (uint64_t)evidence->late_watched * SURELY_READ;
	return !is_share(evidence->late_stores, evidence->late, READ_MOSTLY);
}

/* Whether it is neither known to be read alone since it was filled, nor known to be written. */
static bool
is_thin(const struct memory_report *report, const struct memory_evidence *evidence)
{
	return report->profile->totals.counts && evidence->late_written < RULE_OF_THREE &&
	       !is_read_mostly(report, evidence);
}

static bool
has_one_node(const struct user_list *list)
{
	return is_share(list->from_node[most_of(list->from_node)], list->memory, SINGLE_USER);
}

/*
 * Whether each node uses a part of the object that others leave alone, as where threads have a share of an array each:
 * it is cut into pieces, and what memory serves of most of them goes to one node. 1, 0 or -ENOMEM.
 */
static int
has_parts(const struct memory_report *report, const struct memory_member *member, const struct user_list *list)
{
	const struct memory_object *object = &report->profile->objects[member->object];
	const uint64_t page = report->profile->totals.page_bytes ? report->profile->totals.page_bytes : PART_BYTES;
	const uint64_t begin = object->address / page, pages = (object->address + object->size - 1) / page - begin + 1;
	uint64_t(*from_node)[MEMORY_NODES_MAX], count = (member->count - list->first_use) / PART_SAMPLES, single = 0;

	count = count < pages ? count : pages;
	count = count < PARTS_MOST ? count : PARTS_MOST;
	if (!object->size || count < 2)
		return 0;
	from_node = calloc(count, sizeof(*from_node));
	if (!from_node)
		return -ENOMEM;
	for (uint32_t i = list->first_use; i < member->count; i++) {
		const struct memory_access *access = memory_member_access(report, member, i);
		const uint64_t at = (object->address + access->offset) / page - begin;

		if (memory_access_is_of_memory(access) && at < pages)
			from_node[(unsigned __int128)at * count / pages][access->node] += access->weight;
	}
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t sum = sum_of(from_node[i]);

		single += is_share(from_node[i][most_of(from_node[i])], sum, SINGLE_USER) ? sum : 0;
	}
	free(from_node);
	return is_share(single, list->memory, SINGLE_USER);
}

/*
 * The placement that fits who uses the object, from which nodes, and where its memory is. What is written must not have
 * copies, but what is read may be spread: that is the advice where it is not known which it is.
 */
static enum memory_verdict
place(const struct memory_report *report, const struct memory_member *member, const struct user_list *list)
{
	const struct memory_evidence *evidence = &member->evidence;
	const struct object_user *user = main_user(list);
	const unsigned from = most_of(list->from_node), to = most_of(list->to_node);
	const uint64_t nodes = report->profile->totals.nodes;
	struct access_share most;
	unsigned node;

	/* no placement can be named where threads' nodes are not known */
	if (nodes < 2 || is_share(list->from_node[MEMORY_NODE_HERE], list->memory, SEVERAL_NODES))
		return VERDICT_NOTHING;
	if (member->turns)
		return VERDICT_MIGRATE;
	if (is_share(user->memory, list->memory, SINGLE_USER) && has_moved(user))
		return VERDICT_PIN;
	if (has_one_node(list))
		return from != to ? VERDICT_LOCAL : VERDICT_NOTHING;
	if (fits_on_a_node(report, member))
		return VERDICT_PIN;
	if (evidence->of_parts)
		return VERDICT_LOCAL;
	if (is_read_mostly(report, evidence))
		return pays_copies(report, member, list) ? VERDICT_REPLICATE : VERDICT_NOTHING;
	/* a node serves more than one and a half times its equal share */
	most = most_on_a_node(list->from_node, list->to_node, list->memory, &node);
	if ((unsigned __int128)most.part * nodes * 2 > (unsigned __int128)most.whole * 3)
		return VERDICT_INTERLEAVE;
	return VERDICT_NOTHING;
}

/* What threads wait for accesses to it and for its lines: what the remedy of one verdict could gain is a part of it. */
static uint64_t
waited_cycles(const struct memory_evidence *evidence)
{
	return evidence->excess_cycles + evidence->transfer_cycles;
}

static void
decide(const struct memory_report *report, struct memory_member *member, const struct user_list *list,
       uint64_t of_shared)
{
	const struct memory_evidence *evidence = &member->evidence;

	member->verdict = VERDICT_NOTHING;
	member->cost_cycles = waited_cycles(evidence);
	if (evidence->false_cycles > evidence->excess_cycles &&
	    is_share(evidence->false_cycles, evidence->transfer_cycles, MOST_FALSE)) {
		member->verdict =
			is_share(of_shared, evidence->false_cycles, SPLIT_SHARED) ? VERDICT_SPLIT : VERDICT_PAD;
		member->cost_cycles = evidence->false_cycles;
		return;
	}
	/* a line goes from core to core faster within a node */
	if (evidence->far_cycles > evidence->excess_cycles &&
	    is_share(evidence->far_cycles, evidence->transfer_cycles, MOST_FAR) && fits_on_a_node(report, member)) {
		member->verdict = VERDICT_PIN;
		member->cost_cycles = evidence->far_cycles;
		return;
	}
	if (!is_share(list->remote, list->memory, REMOTE_LEAST))
		return;
	member->turns = count_turns(report, member, list->first_use);
	member->verdict = place(report, member, list);
	if (member->verdict != VERDICT_NOTHING)
		member->cost_cycles = evidence->excess_cycles;
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static int
count_pages(const struct memory_report *report, struct memory_member *member)
{
	const uint64_t bytes = unit_bytes(report->profile);
	const uint64_t address = report->profile->objects[member->object].address;
	uint64_t *pages;

	if (!report->profile->totals.counts)
		return 0;
	pages = calloc(member->count, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < member->count; i++)
		pages[i] = (address + memory_member_access(report, member, i)->offset) / bytes;
	qsort(pages, member->count, sizeof(*pages), compare_numbers);
	for (uint32_t i = 0; i < member->count; i++)
		member->evidence.pages += !i || pages[i] != pages[i - 1];
	free(pages);
	return 0;
}

static int
judge(const struct memory_report *report, struct memory_member *member)
{
	struct memory_evidence *evidence = &member->evidence;
	struct user_list list = {.first_use = first_use(report, member)};
	uint64_t of_shared;
	int err = list_users(report, member, &list), parts = 0;

	if (!err)
		err = count_pages(report, member);
	if (!err)
		err = sum_false(report, member, &of_shared);
	if (!err && list.remote && !has_one_node(&list))
		parts = has_parts(report, member, &list);
	err = parts < 0 ? parts : err;
	if (!err) {
		count_since_others(report, member, list.first_use);
		evidence->threads = (uint32_t)list.count;
		evidence->used = list.memory;
		evidence->used_remote = list.remote;
		for (size_t i = 0; i < list.count; i++)
			evidence->avoidable_by_pinning += has_moved(&list.users[i]) ? list.users[i].remote : 0;
		if (has_one_node(&list) || parts)
			evidence->avoidable_by_allocation = list.remote;
		if (parts)
			evidence->of_parts = list.remote;
		decide(report, member, &list, of_shared);
	}
	free(list.users);
	return err;
}

/* ---- groups ---- */

static int
compare_order(const void *a, const void *b, void *context)
{
	const struct memory_access *accesses = context;
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	const bool is_watched = accesses[one].level == MEMORY_WATCHED;

	if (accesses[one].object != accesses[other].object)
		return accesses[one].object < accesses[other].object ? -1 : 1;
	if (is_watched != (accesses[other].level == MEMORY_WATCHED))
		return is_watched ? 1 : -1;
	return (one > other) - (one < other);
}

static uint64_t
key_of(const struct memory_profile *profile, const struct memory_member *member)
{
	const struct memory_object *object = &profile->objects[member->object];

	return object->site != MEMORY_NOTHING ? (uint64_t)object->site << 1 : (uint64_t)object->name << 1 | 1;
}

static int
compare_members(const void *a, const void *b, void *context)
{
	const struct memory_profile *profile = context;
	const uint64_t one = key_of(profile, a), other = key_of(profile, b);
	const uint64_t cost = ((const struct memory_member *)a)->cost_cycles;
	const uint64_t other_cost = ((const struct memory_member *)b)->cost_cycles;

	if (one != other)
		return one < other ? -1 : 1;
	return (cost < other_cost) - (cost > other_cost);
}

static int
compare_groups(const void *a, const void *b)
{
	const struct memory_group *one = a, *other = b;

	if ((one->verdict == VERDICT_NOTHING) != (other->verdict == VERDICT_NOTHING))
		return one->verdict == VERDICT_NOTHING ? 1 : -1;
	return (one->cost_cycles < other->cost_cycles) - (one->cost_cycles > other->cost_cycles);
}

/* Whether it may be that caches serve all that was accessed of it: that its pages are accessed does not tell. */
static bool
is_small(const struct memory_report *report, const struct memory_group *group)
{
	return report->profile->totals.counts &&
	       group->evidence.pages * unit_bytes(report->profile) < WORTH_PAGES_KB * UINT64_C(1024);
}

/* The group has no verdict, and so none of its objects has. */
static void
drop_verdicts(const struct memory_report *report, const struct memory_group *group)
{
	struct memory_member *members = report->objects + group->first_object;

	for (uint32_t i = 0; i < group->object_count; i++) {
		members[i].verdict = VERDICT_NOTHING;
		members[i].cost_cycles = waited_cycles(&members[i].evidence);
	}
	qsort_r(members, group->object_count, sizeof(*members), compare_members, (void *)report->profile);
}

/* The verdict of most of what its objects cost, if that is worth anything. */
static void
judge_group(const struct memory_report *report, struct memory_group *group)
{
	uint64_t costs[VERDICTS] = {0};
	enum memory_verdict most = VERDICT_NOTHING;

	for (uint32_t i = 0; i < group->object_count; i++) {
		const struct memory_member *member = &report->objects[group->first_object + i];

		costs[member->verdict] += member->cost_cycles;
	}
	for (unsigned i = 0; i < VERDICTS; i++)
		most = costs[i] > costs[most] ? i : most;
	if (most == VERDICT_NOTHING || group->evidence.samples < WORTH_SAMPLES ||
	    (most != VERDICT_PAD && most != VERDICT_SPLIT && is_small(report, group)) ||
	    !is_share(costs[most], report->base_cycles, WORTH)) {
		group->verdict = VERDICT_NOTHING;
		group->cost_cycles = waited_cycles(&group->evidence);
		drop_verdicts(report, group);
		return;
	}
	group->verdict = most;
	group->cost_cycles = costs[most];
}

static int
make_groups(struct memory_report *report)
{
	const struct memory_profile *profile = report->profile;
	struct memory_group *group = NULL;
	size_t room = 0;

	if (report->object_count > 1)
		qsort_r(report->objects, report->object_count, sizeof(*report->objects), compare_members,
		        (void *)(uintptr_t)profile);
	for (size_t i = 0; i < report->object_count; i++) {
		const struct memory_member *member = &report->objects[i];
		const struct memory_object *object = &profile->objects[member->object];

		if (!i || key_of(profile, member) != key_of(profile, member - 1)) {
			group = ARRAY_APPEND(report->groups, report->group_count, room);
			if (!group)
				return -ENOMEM;
			*group = (struct memory_group){
				.name = memory_object_name(profile, object),
				.site = object->site,
				.kind = object->kind,
				.first_object = (uint32_t)i,
			};
		}
		group->object_count++;
		group->bytes += object->size;
		add_evidence(&group->evidence, &member->evidence);
	}
	for (size_t i = 0; i < report->group_count; i++)
		judge_group(report, &report->groups[i]);
	if (report->group_count > 1)
		qsort(report->groups, report->group_count, sizeof(*report->groups), compare_groups);
	return 0;
}

static int
make_members(struct memory_report *report)
{
	const struct memory_profile *profile = report->profile;
	struct memory_member *member = NULL;
	size_t room = 0;

	report->order = calloc(profile->access_count + 1, sizeof(*report->order));
	report->is_user = calloc(profile->thread_count + 1, sizeof(*report->is_user));
	if (!report->order || !report->is_user)
		return -ENOMEM;
	for (size_t i = 0; i < profile->access_count; i++) {
		report->order[i] = (uint32_t)i;
		report->is_user[profile->accesses[i].thread] |= profile->accesses[i].level != MEMORY_WATCHED;
	}
	qsort_r(report->order, profile->access_count, sizeof(*report->order), compare_order, profile->accesses);
	for (size_t i = 0; i < profile->access_count; i++) {
		const struct memory_access *access = &profile->accesses[report->order[i]];

		if (access->level == MEMORY_WATCHED) {
			if (member && member->object == access->object)
				member->watched++;
			continue;
		}
		if (!member || member->object != access->object) {
			member = ARRAY_APPEND(report->objects, report->object_count, room);
			if (!member)
				return -ENOMEM;
			*member = (struct memory_member){.object = access->object, .first = (uint32_t)i};
		}
		member->count++;
		add_access(profile, &member->evidence, access);
	}
	return 0;
}

static int
find_types(struct memory_report *report)
{
	struct type_votes *votes = type_votes_new(report->profile);

	if (!votes)
		return -ENOMEM;
	for (size_t i = 0; i < report->group_count; i++) {
		struct memory_group *group = &report->groups[i];

		for (uint32_t k = 0; k < group->object_count; k++) {
			const struct memory_member *member = &report->objects[group->first_object + k];

			for (uint32_t at = 0; at < member->count; at++)
				type_votes_add(votes, memory_member_access(report, member, at));
		}
		group->type = type_votes_take(votes);
	}
	type_votes_free(votes);
	return 0;
}

int
memory_report_init(struct memory_report *report, const struct memory_profile *profile)
{
	int err;

	*report = (struct memory_report){.profile = profile};
	err = make_members(report);
	for (size_t i = 0; i < report->object_count && !err; i++) {
		err = judge(report, &report->objects[i]);
		add_evidence(&report->all, &report->objects[i].evidence);
	}
	report->base_cycles = profile->totals.busy_cycles ? profile->totals.busy_cycles : report->all.cycles;
	if (!err)
		err = make_groups(report);
	return err ? err : find_types(report);
}

void
memory_report_fini(struct memory_report *report)
{
	free(report->groups);
	free(report->objects);
	free(report->order);
	free(report->is_user);
	memset(report, 0, sizeof(*report));
}

/* ---- the sentence ---- */

static unsigned
percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)(((unsigned __int128)part * 100 + whole / 2) / whole) : 0;
}

/* Append how to learn whether an object is written, where that is not known. */
static void
explain_thin(const struct memory_report *report, const struct memory_evidence *evidence, char *text, size_t size)
{
	const size_t length = strlen(text);

	if (is_thin(report, evidence))
		snprintf(text + length, size - length,
		         "; whether it is written is not known, for %" PRIu32 " words of it were watched, %" PRIu32
		         " of them written: a longer run may show that it is read alone, and copies fit",
		         evidence->late_watched, evidence->late_written);
}

/* Why something has no verdict. */
static void
explain_nothing(const struct memory_report *report, const struct memory_group *group, char *text, size_t size)
{
	const struct memory_evidence *evidence = &group->evidence;

	if (!is_share(group->cost_cycles, report->base_cycles, WORTH))
		snprintf(text, size, "it costs too little");
	else if (evidence->samples < WORTH_SAMPLES)
		snprintf(text, size, "it has %" PRIu32 " samples, which are too few: a longer run has more",
		         evidence->samples);
	else if (is_small(report, group))
		snprintf(text, size, "it is so small that caches may serve it");
	else if (evidence->transfer_cycles > evidence->excess_cycles &&
	         is_share(evidence->far_cycles, evidence->transfer_cycles, MOST_FAR))
		snprintf(text, size,
		         "threads wait for what others wrote there, %u %% of that for cores of another node: "
		         "fewer accesses would help, or threads on one node",
		         percent(evidence->far_cycles, evidence->transfer_cycles));
	else if (evidence->transfer_cycles > evidence->excess_cycles)
		snprintf(text, size,
		         "threads wait for what others wrote there: no placement helps, fewer accesses would");
	else if (is_share(evidence->from_node[MEMORY_NODE_HERE], evidence->memory, SEVERAL_NODES))
		snprintf(text, size,
		         "%u %% of the accesses to its memory are remote, and on which nodes threads ran is not known",
		         percent(evidence->used_remote, evidence->used));
	else {
		snprintf(text, size,
		         "%u %% of the accesses to its memory are remote, and no placement makes them fewer",
		         percent(evidence->used_remote, evidence->used));
		if (is_share(evidence->used_remote, evidence->used, REMOTE_LEAST))
			explain_thin(report, evidence, text, size);
	}
}

#define COLLIDING_OBJECTS 16 /* of a group, whose members the sentence lists */
#define COLLIDING_SIZE    256

/* Append which members threads ask for that others' accesses to the same lines take from them. */
static void
explain_members(const struct memory_report *report, const struct memory_group *group, char *text, size_t size)
{
	const struct memory_type *type = memory_profile_type(report->profile, group->type.type);
	uint64_t *cycles = type && type->count ? calloc(type->count, sizeof(*cycles)) : NULL;
	const size_t length = strlen(text);
	char names[COLLIDING_SIZE];

	for (uint32_t k = 0; cycles && k < group->object_count && k < COLLIDING_OBJECTS; k++) {
		struct shared_byte *bytes;
		size_t count;

		if (memory_member_bytes(report, &report->objects[group->first_object + k], &bytes, &count))
			break;
		for (size_t i = 0; i < count; i++) {
			const struct memory_field *field =
				object_type_field(report->profile, &group->type, bytes[i].offset);

			if (bytes[i].is_false && field)
				cycles[field - &report->profile->fields[type->first]] += bytes[i].cycles;
		}
		free(bytes);
	}
	if (cycles) {
		object_type_list(report->profile, &group->type, cycles, names, sizeof(names));
		if (*names)
			snprintf(text + length, size - length, "; what collides is %s", names);
	}
	free(cycles);
}

/* `remote`: percent of the accesses to its memory. */
static void
explain_replicate(const struct memory_report *report, const struct memory_evidence *evidence, unsigned remote,
                  char *text, size_t size)
{
	if (report->profile->totals.counts)
		snprintf(text, size,
		         "once filled it is read (%" PRIu32 " words of it were watched, %" PRIu32
		         " were written), and %u %% of the accesses to its memory are remote: give each node a copy",
		         evidence->late_watched, evidence->late_written, remote);
	else
		snprintf(text, size,
		         "once filled it is read (%u %% stores), "
		         "and %u %% of the accesses to its memory are remote: give each node a copy",
		         percent(evidence->late_stores, evidence->late), remote);
}

void
memory_group_explain(const struct memory_report *report, const struct memory_group *group, char *text, size_t size)
{
	const struct memory_evidence *evidence = &group->evidence;
	struct access_share most;
	unsigned node;
	const unsigned remote = percent(evidence->used_remote, evidence->used);
	const unsigned falsely = percent(evidence->false_cycles, evidence->transfer_cycles);

	switch (group->verdict) {
	case VERDICT_REPLICATE:
		explain_replicate(report, evidence, remote, text, size);
		return;
	case VERDICT_INTERLEAVE:
		most = most_on_a_node(evidence->from_node, evidence->to_node, evidence->memory, &node);
		snprintf(text, size,
		         "threads of all nodes %s it, and %u %% of its memory is that of node %u: spread its pages",
		         is_thin(report, evidence) ? "use" : "read and write", percent(most.part, most.whole), node);
		explain_thin(report, evidence, text, size);
		return;
	case VERDICT_LOCAL:
		if (evidence->of_parts * 2 > evidence->used_remote) {
			snprintf(text, size,
			         "each node uses parts of it of its own, "
			         "and %u %% of the accesses to its memory are remote: "
			         "let each thread be the first to write the part that it uses",
			         remote);
			return;
		}
		snprintf(text, size,
		         "one node alone uses it, and %u %% of the accesses to its memory are remote: "
		         "let the thread that uses it allocate it and write it first",
		         remote);
		return;
	case VERDICT_PIN:
		if (evidence->far_cycles > evidence->excess_cycles) {
			snprintf(text, size,
			         "%u %% of the waiting for its lines is for cores of another node, "
			         "and the threads of its process would fit on one: keep them together",
			         percent(evidence->far_cycles, evidence->transfer_cycles));
			return;
		}
		snprintf(text, size,
		         "%u %% of the accesses to its memory are remote, "
		         "by threads that moved, or that would fit on one node: keep them with their memory",
		         remote);
		return;
	case VERDICT_MIGRATE:
		snprintf(text, size,
		         "one node after the other uses it, and %u %% of the accesses to its memory are remote: "
		         "move its pages when its user changes",
		         remote);
		return;
	case VERDICT_PAD:
		snprintf(text, size,
		         "%u %% of the waiting for its lines is for bytes that one thread alone uses: "
		         "give each thread a line of its own",
		         falsely);
		explain_members(report, group, text, size);
		return;
	case VERDICT_SPLIT:
		snprintf(text, size,
		         "%u %% of the waiting for its lines is for bytes that nobody else writes, "
		         "and that several threads read: keep them away from those that are written",
		         falsely);
		explain_members(report, group, text, size);
		return;
	case VERDICT_NOTHING:
		explain_nothing(report, group, text, size);
		return;
	}
}
