#include "image/go_functions.h"

#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

/* Magic numbers of src/internal/abi/symtab.go: 1.20 added startLine to the record of a function. */
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

/* The header: 4 bytes of magic, two of zeros, the quantum, the size of a pointer; then eight pointers. */
#define HEADER_SIZE   72
#define HEADER_COUNT  8
#define HEADER_TEXT   24
#define HEADER_NAMES  32
#define HEADER_STACKS 56
#define HEADER_TABLE  64

/* A row of the table: the entry from the text on, and where the function's record is, from the table on. */
#define ROW_SIZE 8

/* A record of a function, in 32-bit numbers: the entry, the name, arguments, deferreturn, the stack, ... */
#define RECORD_NAME    4
#define RECORD_STACK   16
#define RECORD_ID_1_18 36 /* funcID, flags; in 1.20, startLine comes before */
#define RECORD_ID_1_20 40

#define FLAG_TOP_FRAME 1 /* abi.FuncFlagTopFrame */
#define FLAG_SP_WRITE  2
#define FLAG_ASSEMBLY  4

#define NAME_SIZE_MAX   1024
#define QUANTUM_MAX     4
#define TABLE_ALIGNMENT 8 /* of a table in a section; Go's linker gives it 32 */
#define DEPTH_MAX       (INT64_C(1) << 31)

static uint64_t
read_le(const uint8_t *at, size_t size)
{
	uint64_t value = 0;

	for (size_t i = size; i-- > 0;)
		value = value << 8 | at[i];
	return value;
}

/* `size` bytes at an offset of the section; NULL when they are not there. */
static const uint8_t *
bytes_at(const struct go_functions *functions, uint64_t offset, size_t size)
{
	return offset <= functions->size && size <= functions->size - offset ? functions->bytes + offset : NULL;
}

/* The addend of the relocation at `address`, which the linker of a program without a fixed place has left there. */
static uint64_t
relocated(const struct elf_file *file, uint64_t address)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_next_section(file, NULL, ".rela.dyn", &header);
	Elf_Data *data = section ? elf_file_entries(file, section) : NULL;
	GElf_Rela entry;

	for (int i = 0; data && gelf_getrela(data, i, &entry); i++)
		if (entry.r_offset == address)
			return (uint64_t)entry.r_addend;
	return 0;
}

struct entry_search {
	uint64_t offset; /* UINT64_MAX: not found */
};

static int
find_entry(void *context, const struct go_function *function)
{
	static const char system[] = "_linux"; /* _rt0_amd64, which it jumps to, lies elsewhere */
	struct entry_search *search = context;
	const size_t length = strlen(function->name);

	if (strncmp(function->name, "_rt0_", 5) != 0 || length < sizeof(system) ||
	    strcmp(function->name + length - (sizeof(system) - 1), system) != 0)
		return 0;
	search->offset = function->address;
	return 1;
}

/*
 * The text's address is in the header, in its relocation, or nowhere (since Go 1.26): then it follows from the entry of
 * the program, which is _rt0_amd64_linux() or its like, unless the program begins with C's _start.
 */
static uint64_t
find_text(const struct go_functions *functions, const struct elf_file *file, uint64_t header_address)
{
	uint64_t text = read_le(functions->bytes + HEADER_TEXT, 8);
	struct entry_search search = {UINT64_MAX};

	if (text == 0)
		text = relocated(file, header_address + HEADER_TEXT);
	if (text == 0 && go_functions_each(functions, find_entry, &search) == 1 &&
	    search.offset <= file->header.e_entry)
		text = file->header.e_entry - search.offset;
	return text;
}

/* Is there a table at bytes[at]? Its parts are noted, but for the text. */
static bool
read_header(struct go_functions *functions, const uint8_t *bytes, size_t size)
{
	uint64_t magic;

	if (size < HEADER_SIZE)
		return false;
	magic = read_le(bytes, 4);
	*functions = (struct go_functions){
		.bytes = bytes,
		.size = size,
		.count = read_le(bytes + HEADER_COUNT, 8),
		.names = read_le(bytes + HEADER_NAMES, 8),
		.stacks = read_le(bytes + HEADER_STACKS, 8),
		.functions = read_le(bytes + HEADER_TABLE, 8),
		.flags = (magic == MAGIC_1_18 ? RECORD_ID_1_18 : RECORD_ID_1_20) + 1,
		.quantum = bytes[6],
	};
	return (magic == MAGIC_1_18 || magic == MAGIC_1_20) && bytes[4] == 0 && bytes[5] == 0 && bytes[7] == 8 &&
	       functions->quantum > 0 && functions->quantum <= QUANTUM_MAX && functions->count > 0 &&
	       functions->count < size / ROW_SIZE && functions->names < size && functions->stacks < size &&
	       functions->functions < size;
}

/* The table, if the section has one: at its start, or, where a linker has put several sections into one, within. */
static bool
find_table(struct go_functions *functions, const struct elf_file *file, const char *name, uint64_t *address)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_next_section(file, NULL, name, &header);
	const Elf_Data *data = section ? elf_file_bytes(file, section) : NULL;

	for (size_t at = 0; data && at + HEADER_SIZE <= data->d_size; at += TABLE_ALIGNMENT) {
		*address = header.sh_addr + at;
		if (read_header(functions, (const uint8_t *)data->d_buf + at, data->d_size - at))
			return true;
	}
	return false;
}

bool
go_functions_find(struct go_functions *functions, const struct elf_file *file)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};
	uint64_t address;
	bool found = false;

	if (file->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	for (size_t i = 0; !found && i < ARRAY_COUNT(names); i++)
		found = find_table(functions, file, names[i], &address);
	if (!found)
		return false;
	functions->text = find_text(functions, file, address);
	return functions->text != 0;
}

/* A name that ends inside of the section, and soon, as a hostile file may give one to all functions; or "". */
static const char *
name_at(const struct go_functions *functions, uint64_t offset)
{
	const uint8_t *name = bytes_at(functions, functions->names + offset, 1);

	return name && memchr(name, '\0', functions->size - (size_t)(name - functions->bytes)) ? (const char *)name
	                                                                                       : "";
}

/*
 * What runs on the scheduler's stack was called by one of these, which have switched to it; where they came from is on
 * another stack, of which a sample has no copy.
 */
static bool
is_switch(const char *name)
{
	static const char *const names[] = {"runtime.systemstack", "runtime.mcall", "runtime.morestack",
	                                    "runtime.asmcgocall"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool
read_function(const struct go_functions *functions, uint64_t record_at, struct go_function *function)
{
	const uint8_t *record = bytes_at(functions, functions->functions + record_at, functions->flags + 1);
	uint8_t flags;

	if (!record)
		return false;
	flags = record[functions->flags];
	function->name = name_at(functions, read_le(record + RECORD_NAME, 4));
	function->stack = bytes_at(functions, functions->stacks + read_le(record + RECORD_STACK, 4), 1);
	/* a signal's frame can be unwound, as that of C */
	function->begins_stack = is_switch(function->name) ||
	                         (flags & FLAG_TOP_FRAME && strcmp(function->name, "runtime.sigtramp") != 0);
	function->switches_stack = flags & FLAG_SP_WRITE;
	function->is_assembly = flags & FLAG_ASSEMBLY;
	return function->stack != NULL;
}

int
go_functions_each(const struct go_functions *functions, go_function_visit *visit, void *context)
{
	/* one number more than rows: where the last function ends */
	const uint8_t *table = bytes_at(functions, functions->functions, functions->count * ROW_SIZE + 4);
	int result = 0;

	for (uint64_t i = 0; table && !result && i < functions->count; i++) {
		const uint8_t *row = table + i * ROW_SIZE;
		const uint64_t begin = read_le(row, 4), end = read_le(row + ROW_SIZE, 4);
		struct go_function function = {.address = functions->text + begin, .size = end - begin};

		if (end < begin)
			break;
		if (end > begin && read_function(functions, read_le(row + 4, 4), &function))
			result = visit(context, &function);
	}
	return result;
}

void
go_stack_begin(struct go_stack *stack, const struct go_functions *functions, const uint8_t *at)
{
	*stack = (struct go_stack){.functions = functions, .at = at, .depth = -1, .is_first = true};
}

/* Pairs of varints: how much the depth changes, in zigzag encoding, and for how many quanta it is so; 0 is the end. */
bool
go_stack_next(struct go_stack *stack)
{
	const struct go_functions *functions = stack->functions;
	const size_t left = functions->size - (size_t)(stack->at - functions->bytes);
	struct byte_reader reader;
	uint64_t change, quanta;

	reader_init(&reader, stack->at, left);
	change = read_varint(&reader);
	if (reader.failed || (change == 0 && !stack->is_first))
		return false;
	quanta = read_varint(&reader);
	if (reader.failed || quanta == 0 || quanta > UINT32_MAX || change > UINT32_MAX)
		return false;
	stack->at = reader.at;
	stack->is_first = false;
	stack->depth += (int64_t)unzigzag(change);
	stack->begin = stack->end;
	stack->end += quanta * functions->quantum;
	return stack->depth >= 0 && stack->depth < DEPTH_MAX;
}
