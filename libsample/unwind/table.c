#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "process/hash.h"

#define VERSION            1
#define BLOCKS_PER_STRETCH 4

/* What DWARF numbers of registers are below, for a machine; 0: no such machine. */
static uint64_t
register_limit(unsigned machine)
{
	switch (machine) {
	case UNWIND_X86_64:
		return UNWIND_X86_64_RIP + 1;
	case UNWIND_AARCH64:
		return UNWIND_AARCH64_PC + 1;
	default:
		return 0;
	}
}

/* ---- loading ---- */

struct table_loader {
	struct byte_reader reader;
	uint64_t registers; /* of the machine */
	uint64_t expressions, expression_bytes, lists, register_rules, sets, rows;
	uint32_t *list_starts; /* first rule of each list, and of the one behind the last */
	struct unwind_table *table;
};

/* read_varint(), without a call for the numbers of one or two bytes that rows consist of. */
static inline uint64_t
next_number(struct byte_reader *reader)
{
	const uint8_t *at = reader->at;

	if (reader->end - at >= 2 && at[1] < 0x80) {
		reader->at += 1 + (at[0] >> 7);
		return at[0] & 0x80 ? (at[0] & 0x7f) | (uint64_t)at[1] << 7 : at[0];
	}
	if (at < reader->end && at[0] < 0x80)
		return *reader->at++;
	return read_varint(reader);
}

/* A signed number of 32 bits; any other one fails. */
static int32_t
next_value(struct byte_reader *reader)
{
	const int64_t value = (int64_t)unzigzag(next_number(reader));

	if (value < INT32_MIN || value > INT32_MAX)
		reader->failed = true;
	return (int32_t)value;
}

/* False: they are too large for the bytes that follow, each element of which takes at least the bytes named here. */
static bool
read_counts(struct table_loader *loader)
{
	struct byte_reader *reader = &loader->reader;
	const size_t limit = reader_left(reader) < UINT32_MAX ? reader_left(reader) : UINT32_MAX;

	loader->expressions = read_varint(reader);
	loader->expression_bytes = read_varint(reader);
	loader->lists = read_varint(reader);
	loader->register_rules = read_varint(reader);
	loader->sets = read_varint(reader);
	loader->rows = read_varint(reader);
	if (reader->failed || loader->expressions > limit || loader->expression_bytes > limit ||
	    loader->lists > limit || loader->register_rules > limit || loader->sets > UNWIND_RULES_MAX ||
	    loader->rows > limit)
		return false;
	return loader->expressions + loader->expression_bytes + loader->lists + loader->register_rules * 3 +
	               loader->sets * 4 + loader->rows * 2 <=
	       reader_left(reader);
}

static size_t
block_count(uint64_t rows)
{
	return (rows + UNWIND_BLOCK_ROWS - 1) / UNWIND_BLOCK_ROWS;
}

/* At least one. */
static size_t
stretches_max(uint64_t rows)
{
	return block_count(rows) / BLOCKS_PER_STRETCH + 1;
}

/* The table and its arrays in one block: those of 32 bits, then bytes. Rows are the last of the bytes that are left. */
static int
allocate(struct table_loader *loader, unsigned machine)
{
	const size_t size = sizeof(struct unwind_table) + block_count(loader->rows) * sizeof(struct unwind_block) +
	                    loader->sets * sizeof(struct unwind_rules) +
	                    loader->register_rules * sizeof(struct unwind_register_rule) +
	                    (stretches_max(loader->rows) + 1) * sizeof(uint32_t) +
	                    loader->expressions * sizeof(uint32_t) + loader->expression_bytes +
	                    reader_left(&loader->reader);
	struct unwind_table *table = malloc(size);
	uint8_t *at;

	loader->table = table;
	loader->list_starts = malloc((loader->lists + 1) * sizeof(*loader->list_starts));
	if (!table || !loader->list_starts)
		return -ENOMEM;
	*table = (struct unwind_table){
		.machine = (enum unwind_machine)machine,
		.row_count = (uint32_t)loader->rows,
		.rules_count = (uint32_t)loader->sets,
		.register_rule_count = (uint32_t)loader->register_rules,
		.expression_count = (uint32_t)loader->expressions,
		.memory = size,
	};
	at = (uint8_t *)(table + 1);
	table->blocks = (struct unwind_block *)at;
	at += block_count(loader->rows) * sizeof(*table->blocks);
	table->rules = (struct unwind_rules *)at;
	at += loader->sets * sizeof(*table->rules);
	table->register_rules = (struct unwind_register_rule *)at;
	at += loader->register_rules * sizeof(*table->register_rules);
	table->stretches = (uint32_t *)at;
	at += (stretches_max(loader->rows) + 1) * sizeof(*table->stretches);
	table->expression_ends = (uint32_t *)at;
	at += loader->expressions * sizeof(*table->expression_ends);
	table->expression_bytes = at;
	table->rows = at + loader->expression_bytes;
	return 0;
}

static bool
read_expressions(struct table_loader *loader)
{
	uint32_t *ends = (uint32_t *)loader->table->expression_ends;
	uint8_t *bytes = (uint8_t *)loader->table->expression_bytes;
	uint64_t end = 0;

	for (size_t i = 0; i < loader->expressions; i++) {
		const uint64_t size = next_number(&loader->reader);
		const uint8_t *expression;

		if (size > UNWIND_EXPRESSION_MAX || size > loader->expression_bytes - end)
			return false;
		expression = read_bytes(&loader->reader, size);
		if (!expression)
			return false;
		memcpy(bytes + end, expression, size);
		end += size;
		ends[i] = (uint32_t)end;
	}
	return end == loader->expression_bytes;
}

static bool
rule_is_valid(const struct table_loader *loader, uint64_t number, uint64_t kind, int64_t value)
{
	if (number >= loader->registers)
		return false;
	switch (kind) {
	case UNWIND_UNDEFINED:
		return value == 0;
	case UNWIND_AT_CFA:
	case UNWIND_CFA_PLUS:
		return true;
	case UNWIND_IN_REGISTER:
		return value >= 0 && (uint64_t)value < loader->registers;
	case UNWIND_AT_EXPRESSION:
	case UNWIND_EXPRESSION_VALUE:
		return value >= 0 && (uint64_t)value < loader->expressions;
	default:
		return false;
	}
}

/* Within a list, registers ascend: so no list is longer than there are registers. */
static bool
read_lists(struct table_loader *loader)
{
	struct unwind_register_rule *rules = (struct unwind_register_rule *)loader->table->register_rules;
	struct byte_reader *reader = &loader->reader;
	uint32_t end = 0;

	for (size_t i = 0; i < loader->lists; i++) {
		const uint64_t length = next_number(reader);
		uint64_t least = 0;

		if (length > loader->register_rules - end)
			return false;
		loader->list_starts[i] = end;
		for (uint64_t k = 0; k < length; k++) {
			const uint64_t number = next_number(reader), kind = next_number(reader);
			const int32_t value = next_value(reader);

			if (reader->failed || number < least || !rule_is_valid(loader, number, kind, value))
				return false;
			rules[end++] = (struct unwind_register_rule){value, (uint8_t)number, (uint8_t)kind};
			least = number + 1;
		}
	}
	loader->list_starts[loader->lists] = end;
	return end == loader->register_rules;
}

static bool
read_sets(struct table_loader *loader)
{
	struct unwind_rules *rules = (struct unwind_rules *)loader->table->rules;
	struct byte_reader *reader = &loader->reader;

	for (size_t i = 0; i < loader->sets; i++) {
		const uint64_t number = next_number(reader);
		const int32_t value = next_value(reader);
		const uint64_t list = next_number(reader), is_signal_frame = next_number(reader);

		if (reader->failed || list >= loader->lists || is_signal_frame > 1)
			return false;
		if (number == UNWIND_CFA_EXPRESSION ? value < 0 || (uint64_t)value >= loader->expressions
		                                    : number >= loader->registers)
			return false;
		rules[i] = (struct unwind_rules){
			.cfa_value = value,
			.first = loader->list_starts[list],
			.count = (uint8_t)(loader->list_starts[list + 1] - loader->list_starts[list]),
			.cfa_register = (uint8_t)number,
			.is_signal_frame = is_signal_frame,
		};
	}
	return true;
}

/* Check all rows, note where blocks begin, and copy the rows. */
static bool
read_rows(struct table_loader *loader)
{
	struct unwind_table *table = loader->table;
	struct unwind_block *blocks = (struct unwind_block *)table->blocks;
	struct byte_reader *reader = &loader->reader;
	const uint8_t *start = reader->at;
	uint64_t room = (uint64_t)UNWIND_OFFSET_MAX + 1; /* how far the next offset may be from the previous one */

	for (size_t i = 0; i < loader->rows; i++) {
		const uint64_t distance = next_number(reader);
		const uint8_t *at = reader->at;

		if (next_number(reader) > loader->sets || reader->failed || distance == 0 || distance > room)
			return false;
		room -= distance;
		if (i % UNWIND_BLOCK_ROWS == 0)
			blocks[i / UNWIND_BLOCK_ROWS] =
				(struct unwind_block){(uint32_t)(UNWIND_OFFSET_MAX - room), (uint32_t)(at - start)};
	}
	memcpy((uint8_t *)table->rows, start, (size_t)(reader->at - start));
	table->rows_end = table->rows + (reader->at - start);
	return true;
}

static void
make_stretches(struct unwind_table *table)
{
	const uint32_t blocks = (uint32_t)block_count(table->row_count);
	uint32_t *stretches = (uint32_t *)table->stretches;
	uint64_t last; /* 64 bits: a table of one block at the highest offsets has a shift of 32 */
	uint32_t stretch = 0;

	if (blocks == 0)
		return;
	last = table->blocks[blocks - 1].offset;
	while (last >> table->stretch_shift >= stretches_max(table->row_count))
		table->stretch_shift++;
	table->stretch_count = (uint32_t)(last >> table->stretch_shift) + 1;
	for (uint32_t i = 0; i < blocks; i++)
		while (stretch <= (uint64_t)table->blocks[i].offset >> table->stretch_shift)
			stretches[stretch++] = i;
	stretches[stretch] = blocks;
}

int
unwind_table_load(const void *bytes, size_t size, struct unwind_table **table)
{
	struct table_loader loader = {0};
	uint8_t version, machine;
	int err;

	*table = NULL;
	reader_init(&loader.reader, bytes, size);
	version = read_u8(&loader.reader);
	machine = read_u8(&loader.reader);
	loader.registers = register_limit(machine);
	if (version != VERSION || !loader.registers || !read_counts(&loader))
		return -EBADMSG;
	err = allocate(&loader, machine);
	if (!err && (!read_expressions(&loader) || !read_lists(&loader) || !read_sets(&loader) || !read_rows(&loader) ||
	             reader_left(&loader.reader)))
		err = -EBADMSG;
	free(loader.list_starts);
	if (err) {
		free(loader.table);
		return err;
	}
	make_stretches(loader.table);
	*table = loader.table;
	return 0;
}

void
unwind_table_free(struct unwind_table *table)
{
	free(table);
}

/* The rows of a block, which were checked, up to the offset. */
static uint64_t
find_set(const struct unwind_table *table, const struct unwind_block *block, uint64_t offset)
{
	struct byte_reader reader = {.at = table->rows + block->at, .end = table->rows_end};
	uint64_t at = block->offset, set = next_number(&reader);

	while (reader.at < reader.end) {
		at += next_number(&reader);
		if (at > offset)
			break;
		set = next_number(&reader);
	}
	return set;
}

const struct unwind_rules *
unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
	uint64_t stretch = offset >> table->stretch_shift, set;
	uint32_t first, end;

	if (table->row_count == 0 || offset < table->blocks->offset || offset > UNWIND_OFFSET_MAX)
		return NULL;
	if (stretch >= table->stretch_count)
		stretch = table->stretch_count - 1;
	/* the last block that does not begin behind the offset: from the last before the stretch on */
	first = table->stretches[stretch];
	end = table->stretches[stretch + 1];
	first -= first > 0;
	while (end - first > 1) {
		const uint32_t middle = first + (end - first) / 2;

		if (table->blocks[middle].offset <= offset)
			first = middle;
		else
			end = middle;
	}
	set = find_set(table, &table->blocks[first], offset);
	return set ? &table->rules[set - 1] : NULL;
}

/* ---- writing ---- */

/* A string of bytes that is stored once. */
struct pool_member {
	UT_hash_handle hh;
	uint32_t number;
	uint8_t bytes[];
};

struct byte_pool {
	struct pool_member *members; /* by bytes */
	struct byte_writer bytes;    /* of all members, in the order of their numbers */
	uint32_t count, limit;
};

struct unwind_writer {
	enum unwind_machine machine;
	struct byte_pool expressions, lists, sets;
	struct byte_writer list, set; /* the one being made */
	size_t expression_bytes, register_rules;
	struct byte_writer rows;
	size_t row_count;
	uint64_t written_to;  /* offset behind that of the last row that was written */
	uint32_t written_set; /* of that row, plus 1 */
	bool has_pending;     /* a row that is not written yet: the next may take its place */
	uint64_t pending_offset;
	uint32_t pending_set;
};

static void
pool_fini(struct byte_pool *pool)
{
	HASH_FREE_ALL(pool->members);
	writer_fini(&pool->bytes);
}

/* The member's number; *is_new when it was added. -ENOMEM, or -E2BIG beyond the pool's limit. */
static int64_t
pool_intern(struct byte_pool *pool, const void *bytes, size_t size, bool *is_new)
{
	struct pool_member *member;

	*is_new = false;
	HASH_FIND(hh, pool->members, bytes, size, member);
	if (member)
		return member->number;
	if (pool->count == pool->limit)
		return -E2BIG;
	member = malloc(sizeof(*member) + size);
	if (!member)
		return -ENOMEM;
	memcpy(member->bytes, bytes, size);
	HASH_ADD_KEYPTR(hh, pool->members, member->bytes, size, member);
	if (!hash_added(member)) {
		free(member);
		return -ENOMEM;
	}
	member->number = pool->count++;
	write_bytes(&pool->bytes, bytes, size);
	*is_new = true;
	return pool->bytes.failed ? -ENOMEM : (int64_t)member->number;
}

struct unwind_writer *
unwind_writer_new(enum unwind_machine machine)
{
	struct unwind_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->machine = machine;
	/* all of them, so that a hostile file cannot fill them with bytes that have one hash */
	writer->expressions.limit = writer->lists.limit = writer->sets.limit = UNWIND_RULES_MAX;
	return writer;
}

void
unwind_writer_free(struct unwind_writer *writer)
{
	if (!writer)
		return;
	pool_fini(&writer->expressions);
	pool_fini(&writer->lists);
	pool_fini(&writer->sets);
	writer_fini(&writer->list);
	writer_fini(&writer->set);
	writer_fini(&writer->rows);
	free(writer);
}

/* The number of an expression; -ENOMEM, -E2BIG. */
static int64_t
add_expression(struct unwind_writer *writer, const struct unwind_rule *rule)
{
	uint8_t bytes[2 + UNWIND_EXPRESSION_MAX];
	struct byte_writer size = BYTE_WRITER_INIT;
	size_t size_of_size;
	int64_t number;
	bool is_new;

	if (rule->size > UNWIND_EXPRESSION_MAX)
		return -E2BIG;
	write_varint(&size, rule->size);
	if (size.failed)
		return -ENOMEM;
	size_of_size = size.size;
	memcpy(bytes, size.data, size_of_size);
	writer_fini(&size);
	memcpy(bytes + size_of_size, rule->expression, rule->size);
	number = pool_intern(&writer->expressions, bytes, size_of_size + rule->size, &is_new);
	if (is_new)
		writer->expression_bytes += rule->size;
	return number;
}

/* What the table has as the value of a rule; *err: -ENOMEM, or -E2BIG when it cannot have it. */
static int64_t
rule_value(struct unwind_writer *writer, const struct unwind_rule *rule, bool is_expression, int *err)
{
	const int64_t value = is_expression ? add_expression(writer, rule) : rule->value;

	if (is_expression && value < 0)
		*err = (int)value;
	else if (value < INT32_MIN || value > INT32_MAX)
		*err = -E2BIG;
	return value;
}

/* The number of the list of register rules; -ENOMEM, -E2BIG. */
static int64_t
add_list(struct unwind_writer *writer, const struct unwind_frame_rules *rules)
{
	const size_t limit = (size_t)register_limit(writer->machine);
	size_t count = 0;
	int64_t number;
	bool is_new;
	int err = 0;

	for (size_t i = 0; i < limit; i++)
		count += rules->registers[i].kind != UNWIND_SAME;
	writer_reset(&writer->list);
	write_varint(&writer->list, count);
	for (size_t i = 0; i < limit; i++) {
		const struct unwind_rule *rule = &rules->registers[i];
		int64_t value;

		if (rule->kind == UNWIND_SAME)
			continue;
		if (rule->kind == UNWIND_IN_REGISTER && (uint64_t)rule->value >= limit)
			return -E2BIG;
		value = rule_value(writer, rule, rule->kind >= UNWIND_AT_EXPRESSION, &err);
		if (err)
			return err;
		write_varint(&writer->list, i);
		write_varint(&writer->list, rule->kind);
		write_varint(&writer->list, zigzag((uint64_t)(rule->kind == UNWIND_UNDEFINED ? 0 : value)));
	}
	if (writer->list.failed)
		return -ENOMEM;
	number = pool_intern(&writer->lists, writer->list.data, writer->list.size, &is_new);
	if (is_new)
		writer->register_rules += count;
	return number;
}

/* The number of the set of rules; -ENOMEM, -E2BIG. */
static int64_t
add_set(struct unwind_writer *writer, const struct unwind_frame_rules *rules)
{
	const bool is_expression = rules->cfa_register == UNWIND_CFA_EXPRESSION;
	int64_t list, value;
	bool is_new;
	int err = 0;

	if (!is_expression && rules->cfa_register >= register_limit(writer->machine))
		return -E2BIG;
	value = rule_value(writer, &rules->cfa, is_expression, &err);
	list = err ? err : add_list(writer, rules);
	if (list < 0)
		return list;
	writer_reset(&writer->set);
	write_varint(&writer->set, rules->cfa_register);
	write_varint(&writer->set, zigzag((uint64_t)value));
	write_varint(&writer->set, (uint64_t)list);
	write_varint(&writer->set, rules->is_signal_frame);
	if (writer->set.failed)
		return -ENOMEM;
	return pool_intern(&writer->sets, writer->set.data, writer->set.size, &is_new);
}

/* Write the pending row, unless the rules before it are the same. */
static void
write_pending(struct unwind_writer *writer)
{
	if (!writer->has_pending || writer->pending_set == writer->written_set)
		return;
	write_varint(&writer->rows, writer->pending_offset + 1 - writer->written_to);
	write_varint(&writer->rows, writer->pending_set);
	writer->written_to = writer->pending_offset + 1;
	writer->written_set = writer->pending_set;
	writer->row_count++;
}

int
unwind_writer_add(struct unwind_writer *writer, uint64_t offset, const struct unwind_frame_rules *rules)
{
	int64_t set;

	if (writer->has_pending && offset < writer->pending_offset)
		return -EINVAL;
	if (offset > UNWIND_OFFSET_MAX) {
		offset = UNWIND_OFFSET_MAX;
		rules = NULL;
	}
	set = rules ? add_set(writer, rules) : -1;
	if (set == -ENOMEM)
		return -ENOMEM;
	if (!writer->has_pending || offset != writer->pending_offset)
		write_pending(writer);
	writer->has_pending = true;
	writer->pending_offset = offset;
	writer->pending_set = set < 0 ? 0 : (uint32_t)set + 1;
	return writer->rows.failed ? -ENOMEM : 0;
}

int
unwind_writer_finish(struct unwind_writer *writer, uint8_t **bytes, size_t *size)
{
	struct byte_writer all = BYTE_WRITER_INIT;

	write_pending(writer);
	writer->has_pending = false;
	write_u8(&all, VERSION);
	write_u8(&all, (uint8_t)writer->machine);
	write_varint(&all, writer->expressions.count);
	write_varint(&all, writer->expression_bytes);
	write_varint(&all, writer->lists.count);
	write_varint(&all, writer->register_rules);
	write_varint(&all, writer->sets.count);
	write_varint(&all, writer->row_count);
	write_bytes(&all, writer->expressions.bytes.data, writer->expressions.bytes.size);
	write_bytes(&all, writer->lists.bytes.data, writer->lists.bytes.size);
	write_bytes(&all, writer->sets.bytes.data, writer->sets.bytes.size);
	write_bytes(&all, writer->rows.data, writer->rows.size);
	if (all.failed || writer->rows.failed) {
		writer_fini(&all);
		return -ENOMEM;
	}
	*bytes = all.data;
	*size = all.size;
	return 0;
}
