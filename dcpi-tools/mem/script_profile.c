#include "dcpi-tools/mem/script_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <lua5.4/lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "dcpi-tools/mem/format.h"
#include "dcpi-tools/mem/member_report.h"
#include "dcpi-tools/mem/object_report.h"

#define KHZ_PER_MHZ     1000.0
#define FIELDS_MAX      48 /* of a class, methods included */
#define SHOWN_BYTES_MAX 4  /* that a byte becomes when it is escaped */

/* ---- the indices ---- */

/* What a script sees as an access: not the words of faults' pages that were watched. */
static bool
is_access(const struct memory_profile *source, size_t number)
{
	return source->accesses[number].level != MEMORY_WATCHED;
}

/* A counting sort: accesses are in the order of time, and stay in it. */
static void
order_accesses(struct script_profile *profile)
{
	const struct memory_profile *source = profile->report->profile;

	for (size_t i = 0; i < source->access_count; i++) {
		if (!is_access(source, i))
			continue;
		profile->in_time[profile->access_count++] = (uint32_t)i;
		profile->first[source->accesses[i].thread + 1]++;
	}
	for (size_t i = 0; i < source->thread_count; i++)
		profile->first[i + 1] += profile->first[i];
	for (size_t i = 0; i < profile->access_count; i++) {
		const uint32_t number = profile->in_time[i];

		profile->order[profile->first[source->accesses[number].thread]++] = number;
	}
	memmove(profile->first + 1, profile->first, source->thread_count * sizeof(*profile->first));
	profile->first[0] = 0;
}

int
script_profile_init(struct script_profile *profile, const struct memory_report *report,
                    const struct epoch_summary *epoch)
{
	const struct memory_profile *source = report->profile;
	size_t listed = 0;

	*profile = (struct script_profile){
		.report = report,
		.epoch = epoch,
		.threads = mem_thread_rows(report, NULL, NULL),
		.members = calloc(source->object_count + 1, sizeof(*profile->members)),
		.groups = calloc(report->object_count + 1, sizeof(*profile->groups)),
		.listed = calloc(report->object_count + 1, sizeof(*profile->listed)),
		.in_time = calloc(source->access_count + 1, sizeof(*profile->in_time)),
		.order = calloc(source->access_count + 1, sizeof(*profile->order)),
		.first = calloc(source->thread_count + 1, sizeof(*profile->first)),
	};
	if (!profile->threads || !profile->members || !profile->groups || !profile->listed || !profile->in_time ||
	    !profile->order || !profile->first)
		return -ENOMEM;
	for (size_t i = 0; i < source->object_count; i++)
		profile->members[i] = MEMORY_NOTHING;
	for (size_t g = 0; g < report->group_count; g++) {
		const struct memory_group *group = &report->groups[g];

		for (uint32_t i = group->first_object; i < group->first_object + group->object_count; i++) {
			profile->listed[listed++] = i;
			profile->groups[i] = (uint32_t)g;
			profile->members[report->objects[i].object] = i;
		}
	}
	order_accesses(profile);
	return 0;
}

void
script_profile_fini(struct script_profile *profile)
{
	free(profile->threads);
	free(profile->members);
	free(profile->groups);
	free(profile->listed);
	free(profile->in_time);
	free(profile->order);
	free(profile->first);
	memset(profile, 0, sizeof(*profile));
}

/* ---- values ---- */

enum script_class_id { CLASS_PROFILE, CLASS_GROUP, CLASS_OBJECT, CLASS_THREAD, CLASS_ACCESS };
#define CLASSES 5

/* What `value.NAME` is: `push` pushes one value, of the value with `number`. */
struct script_field {
	const char *name;
	void (*push)(lua_State *state, const struct script_profile *profile, uint32_t number);
};

struct script_class {
	const char *name;                  /* of its metatable; Lua's messages have it */
	const char *noun;                  /* "an object" */
	const struct script_field *fields; /* the last one has no name */
	const luaL_Reg *methods;
	lua_CFunction text; /* tostring() */
};
static const struct script_class script_classes[CLASSES];

/* The profile of a state is in its extra space, which Lua copies to that of each coroutine. */
static const struct script_profile *
profile_of(lua_State *state)
{
	const struct script_profile *profile;

	memcpy(&profile, lua_getextraspace(state), sizeof(profile));
	return profile;
}

static void
push_new(lua_State *state, enum script_class_id class, uint32_t number)
{
	uint32_t *value = lua_newuserdatauv(state, sizeof(*value), 0);

	*value = number;
	luaL_setmetatable(state, script_classes[class].name);
}

/* The value, the same one as long as the script has it; accesses, of which there are many, are made each time. */
static void
push_value(lua_State *state, enum script_class_id class, uint32_t number)
{
	if (class == CLASS_ACCESS) {
		push_new(state, class, number);
		return;
	}
	lua_rawgetp(state, LUA_REGISTRYINDEX, &script_classes[class]); /* its values are weak */
	if (lua_rawgeti(state, -1, (lua_Integer)number + 1) == LUA_TNIL) {
		lua_pop(state, 1);
		push_new(state, class, number);
		lua_pushvalue(state, -1);
		lua_rawseti(state, -3, (lua_Integer)number + 1);
	}
	lua_remove(state, -2);
}

static uint32_t
check_value(lua_State *state, int argument, enum script_class_id class)
{
	return *(const uint32_t *)luaL_checkudata(state, argument, script_classes[class].name);
}

/* ---- what fields push ---- */

/* Define script_field.push of one statement, of state, profile and number. */
#define FIELD(name, statement)                                                                                         \
	static void name(lua_State *state, const struct script_profile *profile, uint32_t number)                      \
	{                                                                                                              \
		(void)profile;                                                                                         \
		(void)number;                                                                                          \
		statement;                                                                                             \
	}

static void
push_count(lua_State *state, uint64_t count)
{
	if (count > INT64_MAX)
		lua_pushnumber(state, (lua_Number)count);
	else
		lua_pushinteger(state, (lua_Integer)count);
}

/* Cycles of the machine's file and the like: 0 is not known. */
static void
push_known(lua_State *state, uint64_t count)
{
	if (count)
		push_count(state, count);
	else
		lua_pushnil(state);
}

static void
push_seconds(lua_State *state, uint64_t time_ns)
{
	lua_pushnumber(state, (lua_Number)time_ns / NS_PER_S);
}

/* As reports show it: programs choose their names, and scripts print them to terminals. Nil for NULL and "". */
static void
push_shown(lua_State *state, const char *text)
{
	luaL_Buffer buffer;
	char *shown;
	size_t room;

	if (!text || !*text) {
		lua_pushnil(state);
		return;
	}
	room = strlen(text) * SHOWN_BYTES_MAX + 1;
	shown = luaL_buffinitsize(state, &buffer, room);
	escape_text(text, shown, room);
	luaL_pushresultsize(&buffer, strlen(shown));
}

static void
push_node(lua_State *state, uint8_t node)
{
	if (node == MEMORY_NODE_HERE || node == MEMORY_NODE_AWAY)
		lua_pushnil(state);
	else
		lua_pushinteger(state, node);
}

/* Set field `name` of the table on top to one of counts by node, from 0 on. */
static void
set_nodes(lua_State *state, const char *name, const uint64_t counts[MEMORY_NODES_MAX], uint64_t nodes)
{
	lua_createtable(state, (int)nodes, 1);
	for (uint64_t i = 0; i < nodes && i < MEMORY_NODES_MAX; i++) {
		push_count(state, counts[i]);
		lua_rawseti(state, -2, (lua_Integer)i);
	}
	lua_setfield(state, -2, name);
}

static void
push_evidence(lua_State *state, const struct memory_report *report, const struct memory_evidence *evidence)
{
	const uint64_t nodes = report->profile->totals.nodes;
	struct mem_count counts[MEM_COUNTS];

	mem_evidence_counts(evidence, counts);
	lua_createtable(state, 0, MEM_COUNTS + 2);
	for (size_t i = 0; i < MEM_COUNTS; i++) {
		push_count(state, counts[i].count);
		lua_setfield(state, -2, counts[i].name);
	}
	set_nodes(state, "from_nodes", evidence->from_node, nodes);
	set_nodes(state, "to_nodes", evidence->to_node, nodes);
}

/* ---- iterators ---- */

/* Over values of one class; over what accesses are of, each once. */
struct script_walk {
	enum script_class_id class;
	const uint32_t *numbers; /* what is at each position; NULL: its number is the position */
	uint32_t at, end;        /* positions */
	uint32_t (*of)(const struct script_profile *profile, uint32_t access); /* NULL: the numbers are the values' */
	bool seen[];                                                           /* by value, with `of` */
};

static int
next_value(lua_State *state)
{
	struct script_walk *walk = lua_touserdata(state, lua_upvalueindex(1));

	while (walk->at < walk->end) {
		uint32_t number = walk->numbers ? walk->numbers[walk->at] : walk->at;

		walk->at++;
		if (walk->of) {
			number = walk->of(profile_of(state), number);
			if (walk->seen[number])
				continue;
			walk->seen[number] = true;
		}
		push_value(state, walk->class, number);
		return 1;
	}
	return 0;
}

/* `values`: how many there are of the class, where walk->of is set. */
static int
push_walk(lua_State *state, const struct script_walk *walk, size_t values)
{
	struct script_walk *made = lua_newuserdatauv(state, sizeof(*made) + values * sizeof(*made->seen), 0);

	memcpy(made, walk, sizeof(*made));
	memset(made->seen, 0, values * sizeof(*made->seen));
	lua_pushcclosure(state, next_value, 1);
	return 1;
}

static int
push_range(lua_State *state, enum script_class_id class, const uint32_t *numbers, size_t first, size_t count)
{
	const struct script_walk walk = {
		.class = class, .numbers = numbers, .at = (uint32_t)first, .end = (uint32_t)(first + count)};

	return push_walk(state, &walk, 0);
}

static uint32_t
thread_of_access(const struct script_profile *profile, uint32_t access)
{
	return profile->report->profile->accesses[access].thread;
}

static uint32_t
member_of_access(const struct script_profile *profile, uint32_t access)
{
	return profile->members[profile->report->profile->accesses[access].object];
}

/* value.NAME = ... */
static int
refuse_change(lua_State *state)
{
	return luaL_error(state, "the profile cannot be changed: keep values in a table of the script");
}

/* ---- the profile ---- */

FIELD(profile_source,
      push_shown(state, memory_profile_text(profile->report->profile, profile->report->profile->source)))
FIELD(profile_costs_of, lua_pushstring(state, mem_costs_of(profile->report)))
FIELD(profile_all, push_evidence(state, profile->report, &profile->report->all))
FIELD(profile_seconds, push_seconds(state, profile->report->profile->totals.elapsed_ns))
FIELD(profile_sampled, lua_pushinteger(state, profile->report->all.samples))

static void
profile_clock(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const uint64_t khz = profile->report->profile->totals.clock_khz;

	(void)number;
	if (khz)
		lua_pushnumber(state, (lua_Number)khz / KHZ_PER_MHZ);
	else
		lua_pushnil(state);
}

#define TOTAL_FIELD(member, push) FIELD(total_##member, push(state, profile->report->profile->totals.member))
TOTAL_FIELD(counted, push_count)
TOTAL_FIELD(nodes, push_count)
TOTAL_FIELD(lost_events, push_count)
TOTAL_FIELD(lost_accesses, push_count)
TOTAL_FIELD(late_events, push_count)
TOTAL_FIELD(unnamed, push_count)
TOTAL_FIELD(short_lived, push_count)
TOTAL_FIELD(untracked, push_count)
TOTAL_FIELD(node_cores, push_known)
TOTAL_FIELD(page_bytes, push_known)
TOTAL_FIELD(busy_cycles, push_known)
TOTAL_FIELD(local_cycles, push_known)
TOTAL_FIELD(remote_cycles, push_known)
FIELD(profile_line_bytes, push_count(state, memory_profile_line_bytes(profile->report->profile)))
FIELD(profile_epoch, push_known(state, profile->epoch ? profile->epoch->id : 0))
FIELD(profile_label, push_shown(state, profile->epoch ? profile->epoch->label : NULL))
FIELD(profile_host, push_shown(state, profile->epoch ? profile->epoch->host : NULL))

/* As os.time() has it. */
static void
profile_start(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	(void)number;
	if (profile->epoch)
		push_seconds(state, profile->epoch->start_ns);
	else
		lua_pushnil(state);
}

static const struct script_field profile_fields[] = {
	{"source", profile_source},
	{"costs_of", profile_costs_of},
	{"seconds", profile_seconds},
	{"counted", total_counted},
	{"sampled", profile_sampled},
	{"nodes", total_nodes},
	{"cores_per_node", total_node_cores},
	{"clock_mhz", profile_clock},
	{"line_bytes", profile_line_bytes},
	{"page_bytes", total_page_bytes},
	{"busy_cycles", total_busy_cycles},
	{"local_cycles", total_local_cycles},
	{"remote_cycles", total_remote_cycles},
	{"lost_events", total_lost_events},
	{"lost_samples", total_lost_accesses},
	{"late", total_late_events},
	{"unnamed", total_unnamed},
	{"short_lived", total_short_lived},
	{"untracked", total_untracked},
	{"all", profile_all},
	{"epoch", profile_epoch},
	{"label", profile_label},
	{"host", profile_host},
	{"start", profile_start},
	{NULL, NULL},
};

static int
profile_objects(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);

	check_value(state, 1, CLASS_PROFILE);
	return push_range(state, CLASS_OBJECT, profile->listed, 0, profile->report->object_count);
}

static int
profile_groups(lua_State *state)
{
	check_value(state, 1, CLASS_PROFILE);
	return push_range(state, CLASS_GROUP, NULL, 0, profile_of(state)->report->group_count);
}

static int
profile_accesses(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);

	check_value(state, 1, CLASS_PROFILE);
	return push_range(state, CLASS_ACCESS, profile->in_time, 0, profile->access_count);
}

static int
profile_threads(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const struct script_walk walk = {.class = CLASS_THREAD,
	                                 .numbers = profile->in_time,
	                                 .end = (uint32_t)profile->access_count,
	                                 .of = thread_of_access};

	check_value(state, 1, CLASS_PROFILE);
	return push_walk(state, &walk, profile->report->profile->thread_count);
}

/* The group that argument 2 names, and the object in it, as `dcpimem object` finds them. NULL: there is none. */
static const struct memory_group *
find_named(lua_State *state, const struct memory_member **member)
{
	const char *similar;

	check_value(state, 1, CLASS_PROFILE);
	return mem_find(profile_of(state)->report, luaL_checkstring(state, 2), member, &similar);
}

static int
profile_group(lua_State *state)
{
	const struct memory_member *member;
	const struct memory_group *group = find_named(state, &member);

	if (group)
		push_value(state, CLASS_GROUP, (uint32_t)(group - profile_of(state)->report->groups));
	else
		lua_pushnil(state);
	return 1;
}

static int
profile_object(lua_State *state)
{
	const struct memory_member *member;
	const struct memory_group *group = find_named(state, &member);

	if (group)
		push_value(state, CLASS_OBJECT,
		           member ? (uint32_t)(member - profile_of(state)->report->objects) : group->first_object);
	else
		lua_pushnil(state);
	return 1;
}

static const luaL_Reg profile_methods[] = {
	{"objects", profile_objects},
	{"groups", profile_groups},
	{"threads", profile_threads},
	{"accesses", profile_accesses},
	{"object", profile_object},
	{"group", profile_group},
	{NULL, NULL},
};

static int
profile_text(lua_State *state)
{
	profile_source(state, profile_of(state), 0);
	return 1;
}

/* ---- groups ---- */

static const struct memory_group *
group_at(const struct script_profile *profile, uint32_t number)
{
	return &profile->report->groups[number];
}

FIELD(group_name, push_shown(state, group_at(profile, number)->name))
FIELD(group_kind, lua_pushstring(state, memory_kind_text(group_at(profile, number)->kind)))

static void
group_type(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	char text[MEM_TYPE_SIZE];

	push_shown(state, mem_type_format(profile->report, group_at(profile, number), NULL, text));
}

static void
group_type_bytes(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_type *type =
		memory_profile_type(profile->report->profile, group_at(profile, number)->type.type);

	push_known(state, type ? type->size : 0);
}

FIELD(group_count, lua_pushinteger(state, group_at(profile, number)->object_count))
FIELD(group_bytes, push_count(state, group_at(profile, number)->bytes))
FIELD(group_verdict, lua_pushstring(state, verdict_text(group_at(profile, number)->verdict)))
FIELD(group_cost, lua_pushnumber(state, memory_report_share(profile->report, group_at(profile, number)->cost_cycles)))

static void
group_why(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	char why[MEM_WHY_SIZE];

	memory_group_explain(profile->report, group_at(profile, number), why, sizeof(why));
	push_shown(state, why);
}

FIELD(group_evidence, push_evidence(state, profile->report, &group_at(profile, number)->evidence))

static void
set_shown(lua_State *state, const char *name, const char *text)
{
	push_shown(state, text);
	lua_setfield(state, -2, name);
}

/* The call chain, the innermost first. */
static void
group_allocated_by(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_profile *source = profile->report->profile;
	const struct memory_group *group = group_at(profile, number);
	const struct memory_site *site = group->site < source->site_count ? &source->sites[group->site] : NULL;

	lua_createtable(state, site ? (int)site->count : 0, 0);
	for (uint32_t i = 0; site && i < site->count; i++) {
		const struct memory_place *place = &source->places[source->frames[site->first + i]];

		lua_createtable(state, 0, 4);
		set_shown(state, "procedure", memory_profile_text(source, place->function));
		set_shown(state, "image", memory_profile_text(source, place->image));
		set_shown(state, "source", memory_profile_text(source, place->source));
		push_known(state, place->line);
		lua_setfield(state, -2, "line");
		lua_rawseti(state, -2, (lua_Integer)i + 1);
	}
}

static const struct script_field group_fields[] = {
	{"name", group_name},
	{"kind", group_kind},
	{"type", group_type},
	{"type_bytes", group_type_bytes},
	{"count", group_count},
	{"bytes", group_bytes},
	{"verdict", group_verdict},
	{"cost", group_cost},
	{"why", group_why},
	{"evidence", group_evidence},
	{"allocated_by", group_allocated_by},
	{NULL, NULL},
};

static int
group_objects(lua_State *state)
{
	const struct memory_group *group = group_at(profile_of(state), check_value(state, 1, CLASS_GROUP));

	return push_range(state, CLASS_OBJECT, NULL, group->first_object, group->object_count);
}

static const luaL_Reg group_methods[] = {{"objects", group_objects}, {NULL, NULL}};

static int
group_text(lua_State *state)
{
	group_name(state, profile_of(state), check_value(state, 1, CLASS_GROUP));
	return 1;
}

/* ---- objects ---- */

static const struct memory_member *
member_at(const struct script_profile *profile, uint32_t number)
{
	return &profile->report->objects[number];
}

static const struct memory_object *
object_at(const struct script_profile *profile, uint32_t number)
{
	return &profile->report->profile->objects[member_at(profile, number)->object];
}

static const struct memory_group *
group_of(const struct script_profile *profile, uint32_t number)
{
	return group_at(profile, profile->groups[number]);
}

static struct mem_row
row_of(const struct script_profile *profile, uint32_t number)
{
	return mem_row_of(profile->report, group_of(profile, number), member_at(profile, number));
}

static void
object_name(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	push_shown(state, group_of(profile, number)->name);
	lua_pushfstring(state, "#%I", (lua_Integer)object_at(profile, number)->number);
	lua_concat(state, 2);
}

FIELD(object_number, lua_pushinteger(state, object_at(profile, number)->number))
FIELD(object_group, push_value(state, CLASS_GROUP, profile->groups[number]))
FIELD(object_kind, lua_pushstring(state, memory_kind_text(object_at(profile, number)->kind)))

static void
object_type(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	char text[MEM_TYPE_SIZE];

	push_shown(state,
	           mem_type_format(profile->report, group_of(profile, number), member_at(profile, number), text));
}

FIELD(object_type_bytes, group_type_bytes(state, profile, profile->groups[number]))
FIELD(object_address, push_count(state, object_at(profile, number)->address))
FIELD(object_bytes, push_count(state, object_at(profile, number)->size))
FIELD(object_born, push_seconds(state, object_at(profile, number)->born_ns))

static void
object_died(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const uint64_t died_ns = object_at(profile, number)->died_ns;

	if (died_ns == MEMORY_ALIVE)
		lua_pushnil(state);
	else
		push_seconds(state, died_ns);
}

static void
object_thread(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const uint32_t thread = object_at(profile, number)->thread;

	if (thread < profile->report->profile->thread_count)
		push_value(state, CLASS_THREAD, thread);
	else
		lua_pushnil(state);
}

static const struct memory_process *
process_of(const struct script_profile *profile, uint32_t process)
{
	return &profile->report->profile->processes[process];
}

FIELD(object_process,
      push_shown(state, memory_profile_text(profile->report->profile,
                                            process_of(profile, object_at(profile, number)->process)->name)))
FIELD(object_pid, lua_pushinteger(state, process_of(profile, object_at(profile, number)->process)->pid))
FIELD(object_verdict, lua_pushstring(state, verdict_text(row_of(profile, number).verdict)))
FIELD(object_cost, lua_pushnumber(state, memory_report_share(profile->report, row_of(profile, number).cost_cycles)))
FIELD(object_evidence, push_evidence(state, profile->report, &member_at(profile, number)->evidence))

static const struct script_field object_fields[] = {
	{"name", object_name},
	{"number", object_number},
	{"group", object_group},
	{"kind", object_kind},
	{"type", object_type},
	{"type_bytes", object_type_bytes},
	{"address", object_address},
	{"bytes", object_bytes},
	{"born", object_born},
	{"died", object_died},
	{"thread", object_thread},
	{"process", object_process},
	{"pid", object_pid},
	{"verdict", object_verdict},
	{"cost", object_cost},
	{"evidence", object_evidence},
	{NULL, NULL},
};

static int
object_accesses(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const struct memory_member *member = member_at(profile, check_value(state, 1, CLASS_OBJECT));

	return push_range(state, CLASS_ACCESS, profile->report->order, member->first, member->count);
}

static int
object_threads(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const struct memory_member *member = member_at(profile, check_value(state, 1, CLASS_OBJECT));
	const struct script_walk walk = {
		.class = CLASS_THREAD,
		.numbers = profile->report->order,
		.at = member->first,
		.end = member->first + member->count,
		.of = thread_of_access,
	};

	return push_walk(state, &walk, profile->report->profile->thread_count);
}

static const luaL_Reg object_methods[] = {{"accesses", object_accesses}, {"threads", object_threads}, {NULL, NULL}};

static int
object_text(lua_State *state)
{
	object_name(state, profile_of(state), check_value(state, 1, CLASS_OBJECT));
	return 1;
}

/* ---- threads ---- */

static const struct memory_thread *
thread_at(const struct script_profile *profile, uint32_t number)
{
	return &profile->report->profile->threads[number];
}

FIELD(thread_tid, lua_pushinteger(state, thread_at(profile, number)->tid))
FIELD(thread_process,
      push_shown(state, memory_profile_text(profile->report->profile,
                                            process_of(profile, thread_at(profile, number)->process)->name)))
FIELD(thread_pid, lua_pushinteger(state, process_of(profile, thread_at(profile, number)->process)->pid))

static void
thread_counts(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct mem_thread_row *row = &profile->threads[number];
	const uint64_t nodes = profile->report->profile->totals.nodes;
	const struct mem_count counts[] = {
		{"accesses", row->accesses}, {"stores", row->stores},       {"memory", row->memory},
		{"remote", row->remote},     {"transfers", row->transfers}, {"cycles", row->cycles},
	};

	lua_createtable(state, 0, ARRAY_COUNT(counts) + 2);
	for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
		push_count(state, counts[i].count);
		lua_setfield(state, -2, counts[i].name);
	}
	set_nodes(state, "from_nodes", row->from_node, nodes);
	set_nodes(state, "to_nodes", row->to_node, nodes);
}

static const struct script_field thread_fields[] = {
	{"tid", thread_tid}, {"process", thread_process}, {"pid", thread_pid}, {"counts", thread_counts}, {NULL, NULL},
};

static int
thread_accesses(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const uint32_t thread = check_value(state, 1, CLASS_THREAD);

	return push_range(state, CLASS_ACCESS, profile->order, profile->first[thread],
	                  profile->first[thread + 1] - profile->first[thread]);
}

static int
thread_objects(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const uint32_t thread = check_value(state, 1, CLASS_THREAD);
	const struct script_walk walk = {
		.class = CLASS_OBJECT,
		.numbers = profile->order,
		.at = profile->first[thread],
		.end = profile->first[thread + 1],
		.of = member_of_access,
	};

	return push_walk(state, &walk, profile->report->object_count);
}

static const luaL_Reg thread_methods[] = {{"accesses", thread_accesses}, {"objects", thread_objects}, {NULL, NULL}};

/* "server(4711) 4713" */
static int
thread_text(lua_State *state)
{
	const struct script_profile *profile = profile_of(state);
	const uint32_t thread = check_value(state, 1, CLASS_THREAD);

	thread_process(state, profile, thread);
	lua_pushfstring(state, "%s(%I) %I", lua_isnil(state, -1) ? "" : lua_tostring(state, -1),
	                (lua_Integer)process_of(profile, thread_at(profile, thread)->process)->pid,
	                (lua_Integer)thread_at(profile, thread)->tid);
	return 1;
}

/* ---- accesses ---- */

static const char *const level_texts[MEMORY_LEVELS] = {
	[MEMORY_CACHE] = "cache",
	[MEMORY_DRAM] = "memory",
	[MEMORY_PREFETCHED] = "prefetched",
	[MEMORY_OWN] = "own",
};

static const struct memory_access *
access_at(const struct script_profile *profile, uint32_t number)
{
	return &profile->report->profile->accesses[number];
}

/* Ascending in the order of time. */
FIELD(access_number, lua_pushinteger(state, (lua_Integer)number + 1))
FIELD(access_time, push_seconds(state, access_at(profile, number)->time_ns))
FIELD(access_object, push_value(state, CLASS_OBJECT, member_of_access(profile, number)))
FIELD(access_thread, push_value(state, CLASS_THREAD, access_at(profile, number)->thread))
FIELD(access_node, push_node(state, access_at(profile, number)->node))
FIELD(access_page_node, push_node(state, access_at(profile, number)->page_node))
FIELD(access_offset, push_count(state, access_at(profile, number)->offset))

static void
access_address(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_access *access = access_at(profile, number);

	push_count(state, profile->report->profile->objects[access->object].address + access->offset);
}

FIELD(access_member,
      push_shown(state, mem_member_name(profile->report, group_of(profile, member_of_access(profile, number)),
                                        access_at(profile, number)->offset)))
FIELD(access_level, lua_pushstring(state, level_texts[access_at(profile, number)->level]))
FIELD(access_cycles, push_known(state, access_at(profile, number)->cycles))
FIELD(access_cost, lua_pushinteger(state, access_at(profile, number)->cost))
FIELD(access_weight, lua_pushinteger(state, access_at(profile, number)->weight))

#define FLAG_FIELD(name, flag) FIELD(access_##name, lua_pushboolean(state, access_at(profile, number)->flags &(flag)))
FLAG_FIELD(store, MEMORY_STORE)
FLAG_FIELD(atomic, MEMORY_ATOMIC)
FLAG_FIELD(transfer, MEMORY_TRANSFER)
FLAG_FIELD(far, MEMORY_FAR)
FIELD(access_remote, lua_pushboolean(state, memory_access_is_remote(access_at(profile, number))))

/* The instruction; NULL: not known. */
static const struct memory_place *
place_of(const struct script_profile *profile, uint32_t number)
{
	const struct memory_profile *source = profile->report->profile;
	const uint32_t place = source->accesses[number].place;

	return place < source->place_count ? &source->places[place] : NULL;
}

#define PLACE_TEXT_FIELD(name, member)                                                                                 \
	static void access_##name(lua_State *state, const struct script_profile *profile, uint32_t number)             \
	{                                                                                                              \
		const struct memory_place *place = place_of(profile, number);                                          \
                                                                                                                       \
		push_shown(state, place ? memory_profile_text(profile->report->profile, place->member) : NULL);        \
	}
PLACE_TEXT_FIELD(procedure, function)
PLACE_TEXT_FIELD(image, image)
PLACE_TEXT_FIELD(source, source)

static void
access_line(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_place *place = place_of(profile, number);

	push_known(state, place && place->source ? place->line : 0);
}

static void
access_image_offset(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_place *place = place_of(profile, number);

	if (place)
		push_count(state, place->offset);
	else
		lua_pushnil(state);
}

/* "multiply+0x1c"; a procedure without a name is called by its file and offset already. */
static void
access_instruction(lua_State *state, const struct script_profile *profile, uint32_t number)
{
	const struct memory_place *place = place_of(profile, number);
	char distance[32];

	access_procedure(state, profile, number);
	if (!place || !place->distance || lua_isnil(state, -1))
		return;
	snprintf(distance, sizeof(distance), "+0x%" PRIx64, place->distance);
	lua_pushstring(state, distance);
	lua_concat(state, 2);
}

static const struct script_field access_fields[] = {
	{"number", access_number},
	{"time", access_time},
	{"object", access_object},
	{"thread", access_thread},
	{"node", access_node},
	{"page_node", access_page_node},
	{"offset", access_offset},
	{"address", access_address},
	{"member", access_member},
	{"level", access_level},
	{"cycles", access_cycles},
	{"cost", access_cost},
	{"weight", access_weight},
	{"store", access_store},
	{"atomic", access_atomic},
	{"remote", access_remote},
	{"transfer", access_transfer},
	{"far", access_far},
	{"procedure", access_procedure},
	{"instruction", access_instruction},
	{"image", access_image},
	{"image_offset", access_image_offset},
	{"source", access_source},
	{"line", access_line},
	{NULL, NULL},
};

static const luaL_Reg access_methods[] = {{NULL, NULL}};

/* "access 17" */
static int
access_text(lua_State *state)
{
	lua_pushfstring(state, "access %I", (lua_Integer)check_value(state, 1, CLASS_ACCESS) + 1);
	return 1;
}

/* Values of accesses are made each time, so two may be of one. */
static int
access_equal(lua_State *state)
{
	const uint32_t *one = luaL_testudata(state, 1, script_classes[CLASS_ACCESS].name);
	const uint32_t *other = luaL_testudata(state, 2, script_classes[CLASS_ACCESS].name);

	lua_pushboolean(state, one && other && *one == *other);
	return 1;
}

/* ---- classes ---- */

static const struct script_class script_classes[CLASSES] = {
	[CLASS_PROFILE] = {"dcpimem.profile", "the profile", profile_fields, profile_methods, profile_text},
	[CLASS_GROUP] = {"dcpimem.group", "a group", group_fields, group_methods, group_text},
	[CLASS_OBJECT] = {"dcpimem.object", "an object", object_fields, object_methods, object_text},
	[CLASS_THREAD] = {"dcpimem.thread", "a thread", thread_fields, thread_methods, thread_text},
	[CLASS_ACCESS] = {"dcpimem.access", "an access", access_fields, access_methods, access_text},
};

/* Nil would hide a wrong name. */
static int
refuse_field(lua_State *state, const struct script_class *class)
{
	const char *names[FIELDS_MAX], *wrong, *near;
	size_t count = 0;

	for (const struct script_field *field = class->fields; field->name && count < FIELDS_MAX; field++)
		names[count++] = field->name;
	for (const luaL_Reg *method = class->methods; method->name && count < FIELDS_MAX; method++)
		names[count++] = method->name;
	wrong = luaL_tolstring(state, 2, NULL);
	near = suggest_name(wrong, names, count);
	if (near)
		return luaL_error(state, "%s has no '%s' (did you mean '%s'?)", class->noun, wrong, near);
	return luaL_error(state, "%s has no '%s': dcpimem(1) lists what it has, in SCRIPTS", class->noun, wrong);
}

/* value.NAME: upvalue 1 has fields as pointers, and methods; upvalue 2 is the class. */
static int
index_value(lua_State *state)
{
	const struct script_class *class = lua_touserdata(state, lua_upvalueindex(2));
	const struct script_field *field;

	lua_pushvalue(state, 2);
	switch (lua_rawget(state, lua_upvalueindex(1))) {
	case LUA_TLIGHTUSERDATA:
		field = lua_touserdata(state, -1);
		field->push(state, profile_of(state), *(const uint32_t *)lua_touserdata(state, 1));
		return 1;
	case LUA_TFUNCTION:
		return 1;
	default:
		return refuse_field(state, class);
	}
}

static void
open_class(lua_State *state, const struct script_class *class)
{
	luaL_newmetatable(state, class->name);
	lua_newtable(state);
	for (const struct script_field *field = class->fields; field->name; field++) {
		lua_pushlightuserdata(state, (void *)(uintptr_t)field);
		lua_setfield(state, -2, field->name);
	}
	luaL_setfuncs(state, class->methods, 0);
	lua_pushlightuserdata(state, (void *)(uintptr_t) class);
	lua_pushcclosure(state, index_value, 2);
	lua_setfield(state, -2, "__index");
	lua_pushcfunction(state, refuse_change);
	lua_setfield(state, -2, "__newindex");
	lua_pushcfunction(state, class->text);
	lua_setfield(state, -2, "__tostring");
	/* index_value() relies on what it is called with: scripts get no hold of it */
	lua_pushboolean(state, false);
	lua_setfield(state, -2, "__metatable");
	lua_pop(state, 1);

	lua_newtable(state); /* the values that the script has */
	lua_newtable(state);
	lua_pushliteral(state, "v");
	lua_setfield(state, -2, "__mode");
	lua_setmetatable(state, -2);
	lua_rawsetp(state, LUA_REGISTRYINDEX, class);
}

void
script_profile_open(lua_State *state, const struct script_profile *profile)
{
	memcpy(lua_getextraspace(state), &profile, sizeof(profile));
	for (size_t i = 0; i < CLASSES; i++)
		open_class(state, &script_classes[i]);
	luaL_getmetatable(state, script_classes[CLASS_ACCESS].name);
	lua_pushcfunction(state, access_equal);
	lua_setfield(state, -2, "__eq");
	lua_pop(state, 1);
	push_value(state, CLASS_PROFILE, 0);
	lua_setglobal(state, "profile");
}
