/*
 * Which files LMDB may be given: all that it wrote, and none that could take it out of their pages. What passes is read
 * and written by LMDB, each time in a process of its own.
 */
#include "tests/unit/profile/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profile/lmdb_pages.h"

#define PAGE    4096
#define BLOCKS  900
#define EDITS   1500
#define REFUSES 10 /* exit status: LMDB gave an error */

struct copy {
	uint8_t *data;
	size_t size;
	char path[128];
};

/* Blocks, names on pages of their own, and free pages: what was flushed again and dropped left them. */
static struct copy
make_database(const struct profile_fixture *fixture)
{
	static struct tally_entry entries[BLOCKS];
	static struct profile_symbol symbols[BLOCKS];
	static char names[BLOCKS][32];
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct copy copy;
	struct stat status;
	int fd;

	for (size_t i = 0; i < BLOCKS; i++) {
		entries[i] = (struct tally_entry){.offset = i * PAGE, .count = 1};
		snprintf(names[i], sizeof(names[i]), "name_%zu_%zu", i * 7919 % 1009, i * i);
		symbols[i] = (struct profile_symbol){.offset = i * 16, .name = names[i]};
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, i == 0, entries, BLOCKS), 0);
	assert_int_equal(profile_put_symbols(profile, 0, symbols, BLOCKS), 0);
	profile_close(profile);
	snprintf(copy.path, sizeof(copy.path), "%s/data.mdb", fixture->directory);
	fd = open(copy.path, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	copy.size = (size_t)status.st_size;
	copy.data = malloc(copy.size);
	assert_int_equal(read(fd, copy.data, copy.size), copy.size);
	close(fd);
	return copy;
}

static int
verify(const struct copy *copy, char why[PAGES_WHY_SIZE])
{
	int fd = open(copy->path, O_RDWR | O_TRUNC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, copy->data, copy->size), copy->size);
	err = pages_verify(fd, why, PAGES_WHY_SIZE);
	close(fd);
	return err;
}

static void
assert_refused(struct copy *copy, const char *with)
{
	char why[PAGES_WHY_SIZE];

	assert_int_equal(verify(copy, why), -DCPI_EDAMAGED);
	if (!strstr(why, with))
		fail_msg("\"%s\" does not say \"%s\"", why, with);
	free(copy->data);
}

/* The meta page in force, inside the copy. */
static struct meta_record *
newest(const struct copy *copy)
{
	struct meta_record *metas[2];

	for (size_t i = 0; i < 2; i++)
		metas[i] = (struct meta_record *)(copy->data + i * PAGE + sizeof(struct page_header));
	return metas[metas[1]->transaction > metas[0]->transaction];
}

/* LMDB aligns the data of a node to two bytes, not to the eight of a record's numbers. */
struct packed_record {
	struct tree_record tree;
} __attribute__((packed));

/* Data of node `index` of a page. */
static uint8_t *
node_data(const struct copy *copy, uint64_t page, size_t index, struct node_header **node)
{
	uint8_t *at = copy->data + page * PAGE;
	uint16_t offset;

	memcpy(&offset, at + sizeof(struct page_header) + 2 * index, sizeof(offset));
	*node = (struct node_header *)(at + offset);
	return at + offset + sizeof(**node) + (*node)->key_size;
}

static struct page_header *
header_of(const struct copy *copy, uint64_t page)
{
	return (struct page_header *)(copy->data + page * PAGE);
}

/* The record of the first table whose root is a page with `flags`. */
static struct packed_record *
find_table(const struct copy *copy, unsigned flags)
{
	const uint64_t main = newest(copy)->main.root;
	const size_t count = (header_of(copy, main)->lower - sizeof(struct page_header)) / 2;

	for (size_t i = 0; i < count; i++) {
		struct node_header *node;
		struct packed_record *record = (struct packed_record *)node_data(copy, main, i, &node);

		if (record->tree.root != NO_PAGE && header_of(copy, record->tree.root)->flags == flags)
			return record;
	}
	fail_msg("there is no such table");
	return NULL;
}

static void
what_lmdb_wrote_passes(void **state)
{
	struct copy copy = make_database(*state);
	char why[PAGES_WHY_SIZE];

	assert_true(newest(&copy)->free.entries > 0);
	if (verify(&copy, why))
		fail_msg("%s", why);
	free(copy.data);
}

static void
other_bytes_and_half_a_file_are_refused(void **state)
{
	struct copy copy = make_database(*state);
	char why[PAGES_WHY_SIZE];

	copy.size = (newest(&copy)->last_page / 2) * PAGE;
	assert_int_equal(verify(&copy, why), -DCPI_EDAMAGED);
	assert_non_null(strstr(why, "more pages than there are"));
	memset(copy.data, 0, copy.size);
	assert_refused(&copy, "page 0 does not say what an LMDB file is");
}

static void
a_branch_that_leads_back_to_itself_is_refused(void **state)
{
	struct copy copy = make_database(*state);
	const uint64_t root = find_table(&copy, PAGE_BRANCH)->tree.root;
	struct node_header *node;

	node_data(&copy, root, 1, &node);
	node->low = (uint16_t)root;
	assert_refused(&copy, "is used twice");
}

static void
a_page_of_two_tables_is_refused(void **state)
{
	struct copy copy = make_database(*state);
	struct packed_record *one = find_table(&copy, PAGE_LEAF), *other = find_table(&copy, PAGE_BRANCH);
	struct node_header *node;

	node_data(&copy, other->tree.root, 0, &node);
	node->low = (uint16_t)one->tree.root;
	assert_refused(&copy, "is used twice");
}

static void
a_page_outside_of_the_file_is_refused(void **state)
{
	struct copy copy = make_database(*state);

	newest(&copy)->main.root = UINT64_C(1) << 40;
	assert_refused(&copy, "lies outside");
}

static void
a_free_page_that_is_in_use_is_refused(void **state)
{
	struct copy copy = make_database(*state);
	const struct meta_record *meta = newest(&copy);
	struct node_header *node;
	uint64_t list[2] = {1, meta->main.root};
	uint8_t *data;

	assert_int_equal(header_of(&copy, meta->free.root)->flags, PAGE_LEAF);
	data = node_data(&copy, meta->free.root, 0, &node);
	assert_true(node->low >= sizeof(list));
	node->low = sizeof(list);
	memcpy(data, list, sizeof(list));
	assert_refused(&copy, "is used twice");
}

static void
a_list_of_free_pages_with_another_length_is_refused(void **state)
{
	struct copy copy = make_database(*state);
	struct node_header *node;
	uint8_t *data = node_data(&copy, newest(&copy)->free.root, 0, &node);

	memset(data, 0x7f, sizeof(uint64_t));
	assert_refused(&copy, "another length");
}

static void
an_entry_that_leaves_its_page_is_refused(void **state)
{
	struct copy copy = make_database(*state);
	struct node_header *node;

	node_data(&copy, find_table(&copy, PAGE_LEAF)->tree.root, 0, &node);
	node->low = PAGE - 1;
	assert_refused(&copy, "does not lie in it");
}

static void
entries_that_share_bytes_are_refused(void **state)
{
	struct copy copy = make_database(*state);
	uint16_t *pointers = (uint16_t *)(header_of(&copy, newest(&copy)->main.root) + 1);

	pointers[0] = pointers[1];
	assert_refused(&copy, "does not lie in it");
}

static void
a_page_that_claims_to_be_in_memory_is_refused(void **state)
{
	struct copy copy = make_database(*state);

	header_of(&copy, newest(&copy)->main.root)->flags |= PAGE_DIRTY;
	assert_refused(&copy, "is not what its place in the tree says");
}

/* LMDB would look for a tree of duplicates behind each entry. */
static void
a_table_with_duplicates_is_refused(void **state)
{
	struct copy copy = make_database(*state);

	find_table(&copy, PAGE_LEAF)->tree.flags = 0x04;
	assert_refused(&copy, "not known here");
}

static void
a_value_on_pages_that_are_not_there_is_refused(void **state)
{
	struct copy copy = make_database(*state);

	for (uint64_t page = 2; page < copy.size / PAGE; page++)
		if (header_of(&copy, page)->flags == PAGE_OVERFLOW)
			header_of(&copy, page)->overflow_pages = 1 << 20;
	assert_refused(&copy, "is used twice, or lies outside");
}

static uint32_t
random_number(void)
{
	static uint32_t number = 20261123;

	number ^= number << 13;
	number ^= number >> 17;
	number ^= number << 5;
	return number;
}

/* All entries of a table: read, deleted, put back. False: LMDB gave an error. */
static bool
use_table(MDB_txn *txn, const MDB_val *name)
{
	char text[512];
	MDB_cursor *cursor;
	MDB_val key, value;
	unsigned long sum = 0;
	MDB_dbi dbi;
	int rc;

	snprintf(text, sizeof(text), "%.*s", (int)name->mv_size, (const char *)name->mv_data);
	if (mdb_dbi_open(txn, text, 0, &dbi) || mdb_cursor_open(txn, dbi, &cursor))
		return false;
	while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
		for (size_t i = 0; i < value.mv_size; i++)
			sum += ((const uint8_t *)value.mv_data)[i];
	while (rc == MDB_NOTFOUND && mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == 0)
		if (mdb_cursor_del(cursor, 0))
			return false;
	for (uint8_t i = 0; rc == MDB_NOTFOUND && i < 40; i++) {
		MDB_val put = {4, (void *)NUMBER_KEY(i)}, with = {3000, NULL};

		rc = mdb_put(txn, dbi, &put, &with, MDB_RESERVE) ? rc + 1 : rc;
	}
	return sum != 1 && rc == MDB_NOTFOUND;
}

/* LMDB says of what is left that it is wrong, or does what it is told; it does not fault, nor call abort(). */
static void
use_database(const char *directory)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi main;
	MDB_cursor *cursor;
	MDB_val name, value;
	bool ok = true;

	alarm(20);
	if (mdb_env_create(&env) || mdb_env_set_maxdbs(env, 64) || mdb_env_set_mapsize(env, 64 << 20) ||
	    mdb_env_open(env, directory, MDB_NOSYNC | MDB_NOLOCK, 0600) || mdb_txn_begin(env, NULL, 0, &txn) ||
	    mdb_dbi_open(txn, NULL, 0, &main) || mdb_cursor_open(txn, main, &cursor))
		_exit(REFUSES);
	while (ok && mdb_cursor_get(cursor, &name, &value, MDB_NEXT) == 0)
		ok = use_table(txn, &name);
	_exit(mdb_txn_commit(txn) || !ok ? REFUSES : 0);
}

static void
whatever_passes_does_lmdb_no_harm(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct copy copy = make_database(fixture);
	unsigned passed = 0, used = 0;
	char why[PAGES_WHY_SIZE];

	for (unsigned edit = 0; edit < EDITS; edit++) {
		/* at the beginning of a page, where its headers, pointers and many records are; or anywhere */
		const size_t page = random_number() % (copy.size / PAGE) * PAGE;
		const size_t at = page + random_number() % (edit % 2 ? 160 : PAGE);
		const uint8_t before = copy.data[at];
		int status, fd = open(copy.path, O_RDWR), err;
		pid_t pid;

		assert_true(fd >= 0);
		copy.data[at] = edit % 3 ? (uint8_t)(before ^ 1u << random_number() % 8) : (uint8_t)random_number();
		assert_int_equal(pwrite(fd, copy.data + at, 1, (off_t)at), 1);
		err = pages_verify(fd, why, sizeof(why));
		if (!err && passed++ % 4 == 0) {
			pid = fork();
			if (pid == 0)
				use_database(fixture->directory);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			if (status != 0 && status != REFUSES << 8)
				fail_msg("edit %u, of byte %zu: LMDB ended with status %x", edit, at, status);
			used += status == 0;
			copy.data[at] = before;
			assert_int_equal(pwrite(fd, copy.data, copy.size, 0), copy.size);
			assert_int_equal(ftruncate(fd, (off_t)copy.size), 0);
		}
		copy.data[at] = before;
		assert_int_equal(pwrite(fd, copy.data + at, 1, (off_t)at), 1);
		close(fd);
	}
	assert_in_range(passed, EDITS / 10, EDITS * 9 / 10);
	assert_in_range(used, passed / 8, passed);
	free(copy.data);
}

#define test(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(what_lmdb_wrote_passes),
		test(other_bytes_and_half_a_file_are_refused),
		test(a_branch_that_leads_back_to_itself_is_refused),
		test(a_page_of_two_tables_is_refused),
		test(a_page_outside_of_the_file_is_refused),
		test(a_free_page_that_is_in_use_is_refused),
		test(a_list_of_free_pages_with_another_length_is_refused),
		test(an_entry_that_leaves_its_page_is_refused),
		test(entries_that_share_bytes_are_refused),
		test(a_page_that_claims_to_be_in_memory_is_refused),
		test(a_table_with_duplicates_is_refused),
		test(a_value_on_pages_that_are_not_there_is_refused),
		test(whatever_passes_does_lmdb_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
