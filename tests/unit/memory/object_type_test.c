#include "memory/object_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

/* Types by number: a node has a key, a pointer and a link; a link two pointers; a tail a count and pairs behind it. */
enum {
	NODE = 1,
	LINK,
	NUMBER,
	TAIL,
};

struct type_fixture {
	struct memory_profile profile;
	struct type_votes *votes;
};

static void
add_type(struct memory_profile *profile, const char *name, uint64_t size, const struct memory_field *fields,
         const char *const *names, uint32_t count)
{
	*memory_profile_add_type(profile) = (struct memory_type){
		.name = memory_profile_add_text(profile, name),
		.size = size,
		.first = (uint32_t)profile->field_count,
		.count = count,
	};
	for (uint32_t i = 0; i < count; i++) {
		struct memory_field *field = memory_profile_add_field(profile);

		*field = fields[i];
		field->name = memory_profile_add_text(profile, names[i]);
	}
}

static int
setup(void **state)
{
	static const struct memory_field node[] = {
		{0, 0, 8, 8, 1}, {0, 8, 8, 8, 1}, {0, 16, 8, 8, 1}, {0, 24, 8, 8, 1}};
	static const struct memory_field tail[] = {
		{0, 0, 8, 8, 1}, {0, 8, 4, 8, UINT64_MAX}, {0, 12, 4, 8, UINT64_MAX}};
	static const char *const node_names[] = {"key", "next", "link.next", "link.before"};
	static const char *const link_names[] = {"next", "before"};
	static const char *const tail_names[] = {"count", "data[].low", "data[].high"};
	struct type_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture || memory_profile_init(&fixture->profile))
		return -1;
	add_type(&fixture->profile, "struct node", 32, node, node_names, 4);
	add_type(&fixture->profile, "struct link", 16, node, link_names, 2);
	add_type(&fixture->profile, "long", 8, NULL, NULL, 0);
	add_type(&fixture->profile, "struct tail", 8, tail, tail_names, 3);
	fixture->votes = NULL;
	return 0;
}

static int
teardown(void **state)
{
	struct type_fixture *fixture = *state;

	type_votes_free(fixture->votes);
	memory_profile_fini(&fixture->profile);
	free(fixture);
	return 0;
}

static uint32_t
make_object(struct type_fixture *fixture, uint64_t size)
{
	*memory_profile_add_object(&fixture->profile) = (struct memory_object){
		.address = 0x1000,
		.size = size,
		.site = MEMORY_NOTHING,
		.kind = MEMORY_HEAP,
	};
	return (uint32_t)fixture->profile.object_count - 1;
}

/* Access `count` times what is at `offset`, by an instruction that takes it for `type_offset` of `type`. */
static void
vote(struct type_fixture *fixture, uint32_t object, uint64_t offset, uint32_t type, uint64_t type_offset,
     uint32_t count)
{
	struct memory_access access = {.object = object, .offset = offset, .weight = count, .cost = 9};

	access.place = (uint32_t)fixture->profile.place_count;
	*memory_profile_add_place(&fixture->profile) = (struct memory_place){.type = type, .type_offset = type_offset};
	if (!fixture->votes)
		fixture->votes = type_votes_new(&fixture->profile);
	type_votes_add(fixture->votes, &access);
}

static void
assert_type(struct type_fixture *fixture, uint32_t type, uint32_t lead)
{
	const struct object_type found = type_votes_take(fixture->votes);

	assert_int_equal(found.type, type);
	assert_int_equal(found.lead, lead);
}

static void
an_object_has_the_type_that_accesses_agree_on(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t node = make_object(fixture, 32), nodes = make_object(fixture, 320);

	vote(fixture, node, 8, NODE, 8, 10);
	vote(fixture, node, 0, NODE, 0, 1);
	assert_type(fixture, NODE, 0);
	vote(fixture, nodes, 32 * 7 + 8, NODE, 8, 10);
	assert_type(fixture, NODE, 0);
	assert_int_equal(type_votes_take(fixture->votes).type, 0); /* they are forgotten */
}

static void
accesses_elsewhere_than_the_type_says_do_not_count(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t node = make_object(fixture, 32), small = make_object(fixture, 24);

	vote(fixture, node, 0, NODE, 8, 10); /* what is at 0 is taken for what is at 8 */
	assert_type(fixture, 0, 0);
	vote(fixture, small, 8, NODE, 8, 10); /* it is too small */
	assert_type(fixture, 0, 0);
	vote(fixture, node, 8, NODE, 8, 4); /* less than a half is as it should be */
	vote(fixture, node, 0, NODE, 8, 10);
	assert_type(fixture, 0, 0);
}

static void
what_is_part_of_a_structure_does_not_outvote_it(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t nodes = make_object(fixture, 64);

	vote(fixture, nodes, 24, LINK, 0, 10); /* as a link that begins there */
	vote(fixture, nodes, 8, NODE, 8, 4);
	vote(fixture, nodes, 0, NUMBER, 0, 20);
	assert_type(fixture, NODE, 0);
	vote(fixture, nodes, 0, NUMBER, 0, 20);
	assert_type(fixture, NUMBER, 0);
}

/* new[] of a class with a destructor: the number of elements, then these. */
static void
elements_may_begin_behind_their_number(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t nodes = make_object(fixture, 8 + 32 * 4);
	const struct object_type type = {NODE, 8};

	vote(fixture, nodes, 8 + 32 * 3 + 8, NODE, 8, 10);
	vote(fixture, nodes, 8 + 32 * 2, NODE, 0, 10);
	assert_type(fixture, NODE, 8);
	assert_null(object_type_field(&fixture->profile, &type, 0));
	assert_ptr_equal(object_type_field(&fixture->profile, &type, 8 + 32 * 3 + 8), &fixture->profile.fields[1]);
}

static void
members_are_found_by_offset(void **state)
{
	struct type_fixture *fixture = *state;
	const struct memory_profile *profile = &fixture->profile;
	const struct object_type node = {NODE, 0}, tail = {TAIL, 0}, number = {NUMBER, 0};
	const struct memory_field *fields = profile->fields;

	assert_ptr_equal(object_type_field(profile, &node, 15), &fields[1]);
	assert_ptr_equal(object_type_field(profile, &node, 32 * 5 + 16), &fields[2]);
	assert_null(object_type_field(profile, &number, 0));
	assert_string_equal(memory_profile_text(profile, object_type_field(profile, &tail, 800)->name), "data[].low");
	assert_string_equal(memory_profile_text(profile, object_type_field(profile, &tail, 812)->name), "data[].high");
	assert_string_equal(memory_profile_text(profile, object_type_field(profile, &tail, 0)->name), "count");
}

static void
the_declaration_of_a_variable_counts_and_not_its_accesses(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t variable = make_object(fixture, 64);

	fixture->profile.objects[variable].kind = MEMORY_STATIC;
	vote(fixture, variable, 8, LINK, 8, 10); /* nobody knows what lies between variables */
	assert_type(fixture, 0, 0);
	fixture->profile.objects[variable].type = NODE;
	vote(fixture, variable, 8, LINK, 8, 10);
	assert_type(fixture, NODE, 0);
}

/* By pointers to its members: who made it says more. */
static void
a_structure_that_is_used_as_numbers_has_the_type_that_its_maker_returns(void **state)
{
	struct type_fixture *fixture = *state;
	const uint32_t object = make_object(fixture, 128);

	*memory_profile_add_site(&fixture->profile) = (struct memory_site){.type = NODE};
	fixture->profile.objects[object].site = 0;
	vote(fixture, object, 8, NUMBER, 0, 10);
	assert_type(fixture, NODE, 0);
	vote(fixture, object, 4, NUMBER, 0, 10); /* no: members have no halves */
	vote(fixture, object, 16, LINK, 0, 10);
	assert_type(fixture, LINK, 0);
}

static void
types_and_members_have_names(void **state)
{
	struct type_fixture *fixture = *state;
	const struct memory_profile *profile = &fixture->profile;
	const struct object_type node = {NODE, 0}, number = {NUMBER, 0}, tail = {TAIL, 0}, none = {0, 0};
	char text[64];

	object_type_text(profile, &node, 32, text, sizeof(text));
	assert_string_equal(text, "struct node");
	object_type_text(profile, &node, 64, text, sizeof(text));
	assert_string_equal(text, "struct node[]");
	object_type_text(profile, &number, 800, text, sizeof(text));
	assert_string_equal(text, "long[]");
	object_type_text(profile, &tail, 800, text, sizeof(text));
	assert_string_equal(text, "struct tail");
	object_type_text(profile, &none, 800, text, sizeof(text));
	assert_string_equal(text, "");
	object_type_list(profile, &node, (const uint64_t[]){1000, 3000, 10, 0}, text, sizeof(text));
	assert_string_equal(text, "next and key"); /* the third is too little */
	object_type_list(profile, &node, (const uint64_t[]){2000, 3000, 1000, 4000}, text, sizeof(text));
	assert_string_equal(text, "link.before, next, key and link.next");
	object_type_list(profile, &node, (const uint64_t[]){2000, 3000, 1000, 4000}, text, 12);
	assert_string_equal(text, "link.before");
	object_type_list(profile, &node, (const uint64_t[]){0, 0, 0, 0}, text, sizeof(text));
	assert_string_equal(text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_object_has_the_type_that_accesses_agree_on, setup, teardown),
		cmocka_unit_test_setup_teardown(accesses_elsewhere_than_the_type_says_do_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_part_of_a_structure_does_not_outvote_it, setup, teardown),
		cmocka_unit_test_setup_teardown(elements_may_begin_behind_their_number, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_found_by_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(the_declaration_of_a_variable_counts_and_not_its_accesses, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_structure_that_is_used_as_numbers_has_the_type_that_its_maker_returns,
	                                        setup, teardown),
		cmocka_unit_test_setup_teardown(types_and_members_have_names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
