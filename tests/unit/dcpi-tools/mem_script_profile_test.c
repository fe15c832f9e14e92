#include "dcpi-tools/mem/script_profile.h"

#include <lua5.4/lauxlib.h>
#include <lua5.4/lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#define US   1000ull
#define MANY 200000 /* accesses: a copy of them would take some 20 MB */

/*
 * A process "server" (pid 40) with threads 41, 42 and 43, of which 43 accesses nothing. Objects are a variable,
 * "table", and two that make() allocates; a name has a control character. busy_cycles are 1000.
 */
struct script_fixture {
	struct memory_profile source;
	struct memory_report report;
	struct epoch_summary epoch;
	struct script_profile profile;
	lua_State *state;
};

static uint32_t
text(struct script_fixture *fixture, const char *name)
{
	return memory_profile_add_text(&fixture->source, name);
}

static void
add_access(struct script_fixture *fixture, const struct memory_access *access)
{
	*memory_profile_add_access(&fixture->source) = *access;
}

static void
add_accesses(struct script_fixture *fixture)
{
	/* table: thread 41 writes, 42 reads it from another node */
	add_access(fixture, &(struct memory_access){.time_ns = 1 * US,
	                                            .object = 0,
	                                            .offset = 8,
	                                            .place = 0,
	                                            .level = MEMORY_DRAM,
	                                            .cycles = 200,
	                                            .cost = 100,
	                                            .weight = 1,
	                                            .flags = MEMORY_STORE});
	add_access(fixture, &(struct memory_access){.time_ns = 2 * US,
	                                            .object = 0,
	                                            .thread = 1,
	                                            .offset = 8,
	                                            .place = MEMORY_NOTHING,
	                                            .node = 1,
	                                            .level = MEMORY_DRAM,
	                                            .cycles = 300,
	                                            .cost = 300,
	                                            .weight = 2,
	                                            .flags = MEMORY_TRANSFER | MEMORY_FAR});
	/* make+0x10#2, by 42: a core's own cache, of a PMU that does not know on which node */
	add_access(fixture, &(struct memory_access){.time_ns = 3 * US,
	                                            .object = 2,
	                                            .thread = 1,
	                                            .place = 0,
	                                            .node = MEMORY_NODE_HERE,
	                                            .page_node = MEMORY_NODE_AWAY,
	                                            .level = MEMORY_OWN,
	                                            .weight = 1});
	add_access(fixture, &(struct memory_access){.time_ns = 4 * US,
	                                            .object = 1,
	                                            .thread = 1,
	                                            .place = 0,
	                                            .node = 1,
	                                            .page_node = 1,
	                                            .level = MEMORY_CACHE,
	                                            .cost = 10,
	                                            .weight = 1,
	                                            .flags = MEMORY_STORE | MEMORY_ATOMIC});
	add_access(fixture, &(struct memory_access){.time_ns = 5 * US,
	                                            .object = 0,
	                                            .offset = 63,
	                                            .place = 0,
	                                            .level = MEMORY_PREFETCHED,
	                                            .page_node = 1,
	                                            .cost = 1,
	                                            .weight = 1});
}

static void
make_source(struct script_fixture *fixture)
{
	struct memory_profile *source = &fixture->source;

	source->totals = (struct memory_totals){.counted = 6,
	                                        .busy_cycles = 1000,
	                                        .elapsed_ns = 10 * US,
	                                        .clock_khz = 2200000,
	                                        .nodes = 2,
	                                        .node_cores = 4};
	source->source = text(fixture, "a test");
	*memory_profile_add_process(source) = (struct memory_process){.pid = 40, .name = text(fixture, "server")};
	for (unsigned i = 0; i < 3; i++)
		*memory_profile_add_thread(source) = (struct memory_thread){0, 41 + i};
	*memory_profile_add_place(source) = (struct memory_place){.function = text(fixture, "work\033"),
	                                                          .image = text(fixture, "/bin/server"),
	                                                          .source = text(fixture, "server.c"),
	                                                          .line = 7,
	                                                          .offset = 0x1140,
	                                                          .distance = 0x1c};
	*memory_profile_add_frame(source) = 0;
	*memory_profile_add_site(source) = (struct memory_site){.name = text(fixture, "make+0x10"), .count = 1};
	*memory_profile_add_object(source) = (struct memory_object){.address = 0x1000,
	                                                            .size = 64,
	                                                            .died_ns = MEMORY_ALIVE,
	                                                            .site = MEMORY_NOTHING,
	                                                            .name = text(fixture, "table"),
	                                                            .number = 1,
	                                                            .thread = MEMORY_NOTHING,
	                                                            .kind = MEMORY_STATIC};
	for (unsigned i = 0; i < 2; i++)
		*memory_profile_add_object(source) = (struct memory_object){.address = 0x2000 + 0x100 * i,
		                                                            .size = 32,
		                                                            .born_ns = 1 * US,
		                                                            .died_ns = 9 * US,
		                                                            .number = 1 + i,
		                                                            .thread = 1};
}

static void
make_state(struct script_fixture *fixture)
{
	fixture->epoch = (struct epoch_summary){.id = 3, .start_ns = 1500000000, .label = "labelled", .host = "here"};
	assert_int_equal(memory_report_init(&fixture->report, &fixture->source), 0);
	assert_int_equal(script_profile_init(&fixture->profile, &fixture->report, &fixture->epoch), 0);
	fixture->state = luaL_newstate();
	assert_non_null(fixture->state);
	luaL_openlibs(fixture->state);
	script_profile_open(fixture->state, &fixture->profile);
}

static int
setup(void **state)
{
	struct script_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture || memory_profile_init(&fixture->source))
		return -1;
	make_source(fixture);
	return 0;
}

static int
teardown(void **state)
{
	struct script_fixture *fixture = *state;

	if (fixture->state)
		lua_close(fixture->state);
	script_profile_fini(&fixture->profile);
	memory_report_fini(&fixture->report);
	memory_profile_fini(&fixture->source);
	free(fixture);
	return 0;
}

/* What the chunk returns, as one text. */
static void
assert_script(struct script_fixture *fixture, const char *chunk, const char *expected)
{
	lua_State *state = fixture->state;

	if (!state) {
		add_accesses(fixture);
		make_state(fixture);
		state = fixture->state;
	}
	lua_settop(state, 0);
	(void)luaL_dostring(state, chunk); /* its result, or the message */
	assert_string_equal(luaL_tolstring(state, -1, NULL), expected);
}

static void
an_object_has_its_accesses_in_the_order_of_time(void **state)
{
	assert_script(
		*state,
		"local text = ''\n"
		"for access in profile:object('table'):accesses() do\n"
		"  text = text .. string.format('%.0f:%d:%s ', access.time * 1e6, access.thread.tid, access.level)\n"
		"end\n"
		"return text",
		"1:41:memory 2:42:memory 5:41:prefetched ");
}

static void
a_thread_has_its_accesses_and_objects_in_the_order_of_time(void **state)
{
	assert_script(*state,
	              "local text = ''\n"
	              "for thread in profile:threads() do\n"
	              "  text = text .. tostring(thread) .. ':'\n"
	              "  for access in thread:accesses() do text = text .. ' ' .. access.number end\n"
	              "  for object in thread:objects() do text = text .. ' ' .. object.name end\n"
	              "  text = text .. '; '\n"
	              "end\n"
	              "return text",
	              "server(40) 41: 1 5 table#1; server(40) 42: 2 3 4 table#1 make+0x10#2 make+0x10#1; ");
}

static void
objects_and_groups_begin_with_what_costs_most(void **state)
{
	assert_script(*state,
	              "local text = ''\n"
	              "for group in profile:groups() do\n"
	              "  text = text .. group.name .. ' ' .. group.count .. ' ' .. group.bytes .. ':'\n"
	              "  for object in group:objects() do text = text .. ' ' .. object.number end\n"
	              "  text = text .. '; '\n"
	              "end\n"
	              "for object in profile:objects() do text = text .. ' ' .. tostring(object) end\n"
	              "return text",
	              "table 1 64: 1; make+0x10 2 64: 1 2;  table#1 make+0x10#1 make+0x10#2");
}

/* Of a run by faults: words that were watched, one of them of an object that nobody was seen to access. */
static void
a_word_that_was_watched_is_no_access(void **state)
{
	struct script_fixture *fixture = *state;
	struct memory_profile *source = &fixture->source;

	*memory_profile_add_object(source) = (struct memory_object){.address = 0x3000, .size = 32, .number = 3};
	for (uint32_t object = 0; object < 4; object += 3)
		add_access(fixture, &(struct memory_access){.object = object, .level = MEMORY_WATCHED, .weight = 1});
	assert_script(fixture,
	              "local text = ''\n"
	              "for access in profile:accesses() do text = text .. access.object.name .. ' ' end\n"
	              "for thread in profile:threads() do\n"
	              "  for access in thread:accesses() do text = text .. access.level .. ' ' end\n"
	              "  for object in thread:objects() do text = text .. object.bytes .. ' ' end\n"
	              "end\n"
	              "return text",
	              "table#1 table#1 make+0x10#2 make+0x10#1 table#1 "
	              "memory prefetched 64 memory own cache 64 32 32 ");
}

static void
an_object_has_its_life_and_its_counts(void **state)
{
	assert_script(
		*state,
		"local o = profile:object('make+0x10#2')\n"
		"local v = profile:object('table')\n"
		"return table.concat({o.kind, string.format('%x', o.address), o.bytes, string.format('%.0f %.0f', "
		"o.born * 1e6, o.died * 1e6), o.thread.tid, o.process, o.pid, tostring(o.type), tostring(v.died), "
		"tostring(v.thread), o.verdict, v.evidence.accesses, v.evidence.stores, v.evidence.remote, "
		"v.evidence.transfers, v.evidence.cycles, v.evidence.from_nodes[0], v.evidence.from_nodes[1], "
		"v.evidence.to_nodes[1], tostring(v.evidence.to_nodes[2])}, ' ')",
		"heap 2100 32 1 9 42 server 40 nil nil nil nothing 4 1 3 2 701 2 2 1 nil");
}

static void
an_access_has_what_was_sampled(void **state)
{
	struct script_fixture *fixture = *state;

	assert_script(fixture,
	              "local list = {}\n"
	              "for a in profile:accesses() do\n"
	              "  list[#list + 1] = table.concat({tostring(a.object), a.offset, string.format('%x', a.address), "
	              "tostring(a.node), tostring(a.page_node), tostring(a.cycles), a.cost, a.weight}, ' ')\n"
	              "end\n"
	              "return table.concat(list, '\\n')",
	              "table#1 8 1008 0 0 200 100 1\n"
	              "table#1 8 1008 1 0 300 300 2\n"
	              "make+0x10#2 0 2100 nil nil nil 0 1\n"
	              "make+0x10#1 0 2000 1 1 nil 10 1\n"
	              "table#1 63 103f 0 1 nil 1 1");
	assert_script(
		fixture,
		"local list = {}\n"
		"for a in profile:accesses() do\n"
		"  list[#list + 1] = (a.store and 'S' or '-') .. (a.atomic and 'A' or '-') .. (a.remote and 'R' or "
		"'-') .. (a.transfer and 'T' or '-') .. (a.far and 'F' or '-')\n"
		"end\n"
		"return table.concat(list, ' ')",
		"S---- --RTF ----- SA--- --R--");
}

static void
names_of_instructions_are_escaped(void **state)
{
	struct script_fixture *fixture = *state;

	assert_script(fixture,
	              "for a in profile:accesses() do return table.concat({a.procedure, a.instruction, a.image, "
	              "string.format('%x', a.image_offset), a.source, a.line, tostring(a.member)}, ' ') end",
	              "work\\x1b work\\x1b+0x1c /bin/server 1140 server.c 7 nil");
	assert_script(
		fixture,
		"local frames = profile:group('make').allocated_by\n"
		"return #frames .. ' ' .. frames[1].procedure .. ' ' .. frames[1].source .. ' ' .. frames[1].line",
		"1 work\\x1b server.c 7");
}

static void
an_instruction_that_is_not_known_is_nil(void **state)
{
	assert_script(*state,
	              "local text\n"
	              "for a in profile:accesses() do\n"
	              "  if a.number == 2 then text = tostring(a.procedure) .. tostring(a.instruction) .. "
	              "tostring(a.line) .. tostring(a.image_offset) end\n"
	              "end\n"
	              "return text",
	              "nilnilnilnil");
}

static void
the_profile_has_the_facts_of_the_run(void **state)
{
	assert_script(
		*state,
		"local p = profile\n"
		"return table.concat({tostring(p), p.costs_of, p.seconds * 1e6, p.counted, p.sampled, p.nodes, "
		"p.cores_per_node, p.clock_mhz, p.line_bytes, tostring(p.page_bytes), p.busy_cycles, p.late, p.epoch, "
		"p.label, p.host, p.start, p.all.accesses}, ' ')",
		"a test run 10.0 6 4 2 4 2200.0 64 nil 1000 0 3 labelled here 1.5 5");
}

static void
values_can_be_compared_and_be_keys(void **state)
{
	struct script_fixture *fixture = *state;

	assert_script(fixture,
	              "local seen, distinct = {}, 0\n"
	              "for a in profile:accesses() do\n"
	              "  collectgarbage()\n"
	              "  if not seen[a.object] then distinct = distinct + 1 end\n"
	              "  seen[a.object], seen[a.thread], seen[a.object.group] = true, true, true\n"
	              "end\n"
	              "local keys = 0\n"
	              "for _ in pairs(seen) do keys = keys + 1 end\n"
	              "return distinct .. ' ' .. keys .. ' ' .. tostring(seen[profile:object('make#2')])",
	              "3 7 true");
	assert_script(fixture,
	              "local first, again, next\n"
	              "for a in profile:accesses() do first = first or a; if a.number == 2 then next = a end end\n"
	              "for a in profile:object('table'):accesses() do again = again or a end\n"
	              "return tostring(first == again) .. tostring(first == next)",
	              "truefalse");
}

static void
what_is_not_there_is_nil_by_name_and_an_error_as_a_field(void **state)
{
	struct script_fixture *fixture = *state;

	assert_script(fixture, "return tostring(profile:object('nonesuch')) .. tostring(profile:group('make#9'))",
	              "nilnil");
	assert_script(fixture, "return profile:object('table').adress",
	              "[string \"return profile:object('table').adress\"]:1: an object has no 'adress' (did you mean "
	              "'address'?)");
	assert_script(
		fixture, "return profile.nothing_like_it",
		"[string \"return profile.nothing_like_it\"]:1: the profile has no 'nothing_like_it': dcpimem(1) lists "
		"what it has, in SCRIPTS");
	assert_script(
		fixture, "return profile.objects()",
		"[string \"return profile.objects()\"]:1: bad argument #1 to 'objects' (dcpimem.profile expected, got "
		"no value)");
	assert_script(fixture, "return profile.group(profile:object('table'), 'x')",
	              "[string \"return profile.group(profile:object('table'),...\"]:1: bad argument #1 to 'group' "
	              "(dcpimem.profile expected, got dcpimem.object)");
}

static void
a_script_changes_nothing(void **state)
{
	struct script_fixture *fixture = *state;

	assert_script(
		fixture, "profile.seconds = 1",
		"[string \"profile.seconds = 1\"]:1: the profile cannot be changed: keep values in a table of the "
		"script");
	assert_script(fixture, "return tostring(getmetatable(profile))", "false");
}

static void
coroutines_iterate_as_well(void **state)
{
	assert_script(*state,
	              "local text = ''\n"
	              "local next = coroutine.wrap(function() for o in profile:objects() do coroutine.yield(o.name) "
	              "end end)\n"
	              "for name in next do text = text .. name .. ' ' end\n"
	              "return text",
	              "table#1 make+0x10#1 make+0x10#2 ");
}

static void
iterators_do_not_copy_the_profile(void **state)
{
	struct script_fixture *fixture = *state;

	for (unsigned i = 0; i < MANY; i++)
		add_access(fixture,
		           &(struct memory_access){.time_ns = i, .object = i % 3, .thread = i % 2, .weight = 1});
	make_state(fixture);
	assert_script(fixture,
	              "local most, count = 0, 0\n"
	              "for a in profile:accesses() do\n"
	              "  count = count + a.weight\n"
	              "  most = math.max(most, collectgarbage('count'))\n"
	              "end\n"
	              "return count .. ' ' .. tostring(most < 1000)",
	              "200000 true");
}

static void
a_profile_without_accesses_has_nothing_to_iterate_over(void **state)
{
	struct script_fixture *fixture = *state;

	make_state(fixture);
	assert_script(fixture,
	              "local count = 0\n"
	              "for _, name in ipairs{'objects', 'groups', 'threads', 'accesses'} do\n"
	              "  for _ in profile[name](profile) do count = count + 1 end\n"
	              "end\n"
	              "return count .. ' ' .. profile.all.accesses",
	              "0 0");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_object_has_its_accesses_in_the_order_of_time),
		TEST(a_thread_has_its_accesses_and_objects_in_the_order_of_time),
		TEST(objects_and_groups_begin_with_what_costs_most),
		TEST(a_word_that_was_watched_is_no_access),
		TEST(an_object_has_its_life_and_its_counts),
		TEST(an_access_has_what_was_sampled),
		TEST(names_of_instructions_are_escaped),
		TEST(an_instruction_that_is_not_known_is_nil),
		TEST(the_profile_has_the_facts_of_the_run),
		TEST(values_can_be_compared_and_be_keys),
		TEST(what_is_not_there_is_nil_by_name_and_an_error_as_a_field),
		TEST(a_script_changes_nothing),
		TEST(coroutines_iterate_as_well),
		TEST(iterators_do_not_copy_the_profile),
		TEST(a_profile_without_accesses_has_nothing_to_iterate_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
