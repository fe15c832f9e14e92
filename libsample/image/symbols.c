#include "image/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "image/call_frames.h"
#include "image/elf_file.h"
#include "image/go_functions.h"
#include "image/plt.h"
#include "profile/profile.h"

/* A stretch of code and the symbol that holds it. A symbol inside another cuts the other into two ranges. */
struct symbol_range {
	uint64_t start, end; /* `start` first, for array_compare_u64() */
	size_t symbol;
};

struct symbol_table {
	struct symbol *symbols;
	size_t count;
	struct symbol_range *ranges; /* ascending, disjoint */
	size_t range_count;
	char *names;
};

void
symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->ranges);
	free(table->names);
	free(table);
}

const struct symbol *
symbol_table_find(const struct symbol_table *table, uint64_t offset)
{
	size_t behind = table->range_count; /* the first that begins behind the offset */
	const struct symbol_range *range;

	if (offset < UINT64_MAX)
		behind = ARRAY_LOWER_BOUND(table->ranges, table->range_count, start, offset + 1);
	range = behind > 0 ? &table->ranges[behind - 1] : NULL;
	return range && offset < range->end ? &table->symbols[range->symbol] : NULL;
}

size_t
symbol_table_size(const struct symbol_table *table)
{
	return table->count;
}

const struct symbol *
symbol_table_at(const struct symbol_table *table, size_t index)
{
	return &table->symbols[index];
}

/* ---- candidates, the best of an offset first ---- */

void
symbol_builder_fini(struct symbol_builder *builder)
{
	free(builder->candidates);
	memset(builder, 0, sizeof(*builder));
}

int
symbol_builder_add(struct symbol_builder *builder, const struct symbol_candidate *candidate)
{
	struct symbol_candidate *added;

	if (candidate->limit <= candidate->offset)
		return 0;
	added = ARRAY_APPEND(builder->candidates, builder->count, builder->capacity);
	if (!added)
		return -ENOMEM;
	*added = *candidate;
	return 0;
}

static int
compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static size_t
leading_underscores(const struct symbol_candidate *candidate)
{
	size_t count = strspn(candidate->name, "_");

	return count < candidate->name_length ? count : candidate->name_length;
}

/* By which name is better; both candidates have one and begin at one offset. */
static int
compare_names(const struct symbol_candidate *left, const struct symbol_candidate *right)
{
	int order;

	order = compare_numbers(left->label, right->label);
	if (!order)
		order = compare_numbers(left->binding, right->binding);
	if (!order)
		order = compare_numbers(leading_underscores(left), leading_underscores(right));
	if (!order)
		order = compare_numbers(left->size == 0, right->size == 0);
	if (!order)
		order = compare_numbers(left->name_length, right->name_length);
	if (!order)
		order = memcmp(left->name, right->name, left->name_length);
	return order;
}

static int
compare_candidates(const void *left_item, const void *right_item)
{
	const struct symbol_candidate *left = left_item, *right = right_item;
	int order = compare_numbers(left->offset, right->offset);

	if (!order)
		order = compare_numbers(left->name == NULL, right->name == NULL);
	if (!order && left->name && right->name)
		order = compare_names(left, right);
	if (!order)
		order = compare_numbers(right->size, left->size);
	return order ? order : compare_numbers(right->limit, left->limit);
}

/* Merge `sorted` candidates and the `count` sorted ones that lie behind them, of which `later` has a copy. */
static void
merge(struct symbol_candidate *candidates, size_t sorted, const struct symbol_candidate *later, size_t count)
{
	while (count > 0) {
		struct symbol_candidate *last = &candidates[sorted + count - 1];

		if (sorted > 0 && compare_candidates(&candidates[sorted - 1], &later[count - 1]) > 0)
			*last = candidates[--sorted];
		else
			*last = later[--count];
	}
}

/* Candidates that were added since the last call (PLT stubs, after names were looked up) are sorted, then merged. */
static void
sort(struct symbol_builder *builder)
{
	const size_t count = builder->count - builder->sorted;
	struct symbol_candidate *added, *later;

	if (count == 0)
		return;
	added = builder->candidates + builder->sorted;
	later = builder->sorted ? reallocarray(NULL, count, sizeof(*later)) : NULL;
	if (later) {
		qsort(added, count, sizeof(*added), compare_candidates);
		memcpy(later, added, count * sizeof(*later));
		merge(builder->candidates, builder->sorted, later, count);
		free(later);
	} else {
		qsort(builder->candidates, builder->count, sizeof(*builder->candidates), compare_candidates);
	}
	builder->sorted = builder->count;
}

const struct symbol_candidate *
symbol_builder_best(struct symbol_builder *builder, uint64_t offset)
{
	const struct symbol_candidate *candidate;
	size_t at;

	sort(builder);
	at = ARRAY_LOWER_BOUND(builder->candidates, builder->count, offset, offset);
	if (at == builder->count)
		return NULL;
	candidate = &builder->candidates[at];
	return candidate->offset == offset && candidate->name ? candidate : NULL;
}

/* ---- overlapping stretches of code made disjoint ---- */

struct range_stack {
	const struct symbol_range **open; /* spans that have begun and not ended, innermost last */
	size_t depth;
	uint64_t at; /* everything below is done */
	struct symbol_range *ranges;
	size_t count;
};

/* Give the code up to `end` to the innermost open span, as far as that reaches. */
static void
advance(struct range_stack *stack, uint64_t end)
{
	while (stack->depth && stack->at < end) {
		const struct symbol_range *inner = stack->open[stack->depth - 1];
		uint64_t stop = inner->end < end ? inner->end : end;

		if (stack->at < stop) {
			stack->ranges[stack->count++] = (struct symbol_range){stack->at, stop, inner->symbol};
			stack->at = stop;
		}
		if (inner->end <= end)
			stack->depth--;
	}
}

/*
 * Cut `count` spans, ascending and with distinct starts, into disjoint ascending ranges: where spans overlap, the one
 * that begins last has the code until it ends. `ranges` has room for 2 * count. 0 with *range_count set, or -ENOMEM.
 */
static int
flatten(const struct symbol_range *spans, size_t count, struct symbol_range *ranges, size_t *range_count)
{
	struct range_stack stack = {.ranges = ranges};

	stack.open = calloc(count + 1, sizeof(*stack.open));
	if (!stack.open)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		advance(&stack, spans[i].start);
		stack.at = spans[i].start;
		stack.open[stack.depth++] = &spans[i];
	}
	advance(&stack, UINT64_MAX);
	free(stack.open);
	*range_count = stack.count;
	return 0;
}

/*
 * The parts of `count` spans (ascending by start) that no range and no earlier span covers, with the symbol of their
 * span. `pieces` has room for count + range_count. Returns their number.
 */
static size_t
find_gaps(const struct symbol_range *spans, size_t count, const struct symbol_range *ranges, size_t range_count,
          struct symbol_range *pieces)
{
	size_t found = 0, next = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < count; i++) {
		if (spans[i].start > at)
			at = spans[i].start;
		while (at < spans[i].end) {
			uint64_t stop = spans[i].end;

			while (next < range_count && ranges[next].end <= at)
				next++;
			if (next < range_count && ranges[next].start < stop)
				stop = ranges[next].start;
			if (at < stop)
				pieces[found++] = (struct symbol_range){at, stop, spans[i].symbol};
			at = stop;
			if (at < spans[i].end)
				at = ranges[next].end;
		}
	}
	return found;
}

/* ---- from candidates to a table ---- */

/* A table in the making. Spans may overlap, ranges do not; a named span has the number of its symbol. */
struct table_maker {
	const struct symbol_candidate *candidates;
	size_t count;
	struct symbol_range *named, *unnamed;
	const struct symbol_candidate **chosen; /* whose name each named span bears */
	size_t named_count, unnamed_count;
	uint64_t covered;     /* end of the named spans of known size so far */
	uint64_t unnamed_end; /* end of the last unnamed span */
	struct symbol_table *table;
};

static uint64_t
end_of(const struct symbol_candidate *candidate, uint64_t size)
{
	return size < candidate->limit - candidate->offset ? candidate->offset + size : candidate->limit;
}

/* A name without a size lasts until something else begins or the unnamed code around it ends. */
static uint64_t
end_of_unsized(const struct table_maker *maker, const struct symbol_candidate *candidate, size_t next)
{
	uint64_t end = candidate->limit;

	if (next < maker->count && maker->candidates[next].offset < end)
		end = maker->candidates[next].offset;
	if (maker->unnamed_end > candidate->offset && maker->unnamed_end < end)
		end = maker->unnamed_end;
	return end;
}

/*
 * The candidates from `first` to before `next` begin at one offset. The best name gets the first size that is known;
 * one without any is dropped inside of a symbol that knows its size.
 */
static void
add_group(struct table_maker *maker, size_t first, size_t next)
{
	const struct symbol_candidate *best = &maker->candidates[first];
	uint64_t size = 0, end;

	for (size_t i = first; i < next; i++) {
		const struct symbol_candidate *candidate = &maker->candidates[i];

		if (!candidate->name && candidate->size) {
			maker->unnamed_end = end_of(candidate, candidate->size);
			maker->unnamed[maker->unnamed_count++] =
				(struct symbol_range){candidate->offset, maker->unnamed_end, 0};
		}
		if (!size)
			size = candidate->size;
	}
	if (!best->name || (!size && best->offset < maker->covered))
		return;
	end = size ? end_of(best, size) : end_of_unsized(maker, best, next);
	if (size && end > maker->covered)
		maker->covered = end;
	maker->chosen[maker->named_count] = best;
	maker->named[maker->named_count] = (struct symbol_range){best->offset, end, maker->named_count};
	maker->named_count++;
}

static void
make_spans(struct table_maker *maker)
{
	const struct symbol_candidate *all = maker->candidates;

	for (size_t first = 0, next; first < maker->count; first = next) {
		for (next = first + 1; next < maker->count && all[next].offset == all[first].offset;)
			next++;
		add_group(maker, first, next);
	}
}

/* Ranges of the named spans first, then those that only unnamed spans cover, each a symbol of its own. */
static int
make_ranges(struct table_maker *maker)
{
	struct symbol_table *table = maker->table;
	struct symbol_range *fitting;
	size_t count, gaps;
	int err;

	table->ranges = reallocarray(NULL, 4 * maker->named_count + maker->unnamed_count + 1, sizeof(*table->ranges));
	if (!table->ranges)
		return -ENOMEM;
	err = flatten(maker->named, maker->named_count, table->ranges, &count);
	if (err)
		return err;
	gaps = find_gaps(maker->unnamed, maker->unnamed_count, table->ranges, count, table->ranges + count);
	for (size_t i = 0; i < gaps; i++)
		table->ranges[count + i].symbol = maker->named_count + i;
	table->range_count = count + gaps;
	table->count = maker->named_count + gaps;
	fitting = reallocarray(table->ranges, table->range_count + 1, sizeof(*fitting));
	if (fitting)
		table->ranges = fitting;
	return 0;
}

static int
make_names(struct table_maker *maker)
{
	struct symbol_table *table = maker->table;
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < maker->named_count; i++)
		size += maker->chosen[i]->name_length +
		        (maker->chosen[i]->suffix ? strlen(maker->chosen[i]->suffix) : 0) + 1;
	at = table->names = malloc(size);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < maker->named_count; i++) {
		const struct symbol_candidate *chosen = maker->chosen[i];

		table->symbols[i].name = at;
		at = mempcpy(at, chosen->name, chosen->name_length);
		if (chosen->suffix)
			at = mempcpy(at, chosen->suffix, strlen(chosen->suffix));
		*at++ = '\0';
	}
	return 0;
}

static int
make_symbols(struct table_maker *maker)
{
	struct symbol_table *table = maker->table;

	table->symbols = calloc(table->count + 1, sizeof(*table->symbols));
	if (!table->symbols)
		return -ENOMEM;
	for (size_t i = 0; i < table->range_count; i++) {
		const struct symbol_range *range = &table->ranges[i];
		const struct symbol_range *span =
			range->symbol < maker->named_count ? &maker->named[range->symbol] : range;

		table->symbols[range->symbol] = (struct symbol){
			.offset = span->start,
			.size = span->end == UINT64_MAX ? 0 : span->end - span->start,
		};
	}
	qsort(table->ranges, table->range_count, sizeof(*table->ranges), array_compare_u64);
	return make_names(maker);
}

int
symbol_builder_finish(struct symbol_builder *builder, struct symbol_table **table)
{
	struct table_maker maker = {.table = calloc(1, sizeof(**table))};
	int err = -ENOMEM;

	*table = NULL;
	if (!maker.table)
		return -ENOMEM;
	sort(builder);
	maker.candidates = builder->candidates;
	maker.count = builder->count;
	maker.named = reallocarray(NULL, maker.count + 1, sizeof(*maker.named));
	maker.unnamed = reallocarray(NULL, maker.count + 1, sizeof(*maker.unnamed));
	maker.chosen = reallocarray(NULL, maker.count + 1, sizeof(*maker.chosen));
	if (!maker.named || !maker.unnamed || !maker.chosen)
		goto out;
	make_spans(&maker);
	err = make_ranges(&maker);
	if (err)
		goto out;
	err = make_symbols(&maker);
	if (err)
		goto out;
	*table = maker.table;
	maker.table = NULL;
out:
	free(maker.named);
	free(maker.unnamed);
	free(maker.chosen);
	symbol_table_free(maker.table);
	return err;
}

int
symbol_table_from_captured(const struct profile_symbol *symbols, size_t count, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	int err = 0;

	*table = NULL;
	for (size_t i = 0; !err && i < count; i++) {
		struct symbol_candidate candidate = {
			.offset = symbols[i].offset,
			.size = symbols[i].size,
			.limit = UINT64_MAX,
			.name = symbols[i].name,
			.name_length = symbols[i].name ? strlen(symbols[i].name) : 0,
		};

		err = symbol_builder_add(&builder, &candidate);
	}
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	return err;
}

/* ---- from the symbol tables of a file ---- */

struct symbol_reader {
	struct symbol_builder *builder;
	const struct elf_file *file;
	const struct elf_segments *segments;
	struct elf_names names;
	GElf_Shdr *sections; /* by number; read once, because each symbol needs one */
	size_t section_count;
	bool of_variables; /* not of functions; by address, as .bss is not in the file */
};

static int
read_sections(struct symbol_reader *reader)
{
	if (elf_getshdrnum(reader->file->elf, &reader->section_count))
		return -DCPI_EDAMAGED;
	reader->sections = calloc(reader->section_count + 1, sizeof(*reader->sections));
	if (!reader->sections)
		return -ENOMEM;
	for (size_t i = 0; i < reader->section_count; i++) {
		Elf_Scn *section = elf_getscn(reader->file->elf, i);

		if (!section || !gelf_getshdr(section, &reader->sections[i]))
			memset(&reader->sections[i], 0, sizeof(reader->sections[i]));
	}
	return 0;
}

/* Labels that tell a disassembler where code and data begin (AArch64, ARM, RISC-V ELF ABIs): $x, $d.12, $xrv64. */
static bool
is_mapping_symbol(const struct symbol_reader *reader, const char *name)
{
	switch (reader->file->header.e_machine) {
	case EM_ARM:
	case EM_AARCH64:
	case EM_RISCV:
		return name[0] == '$' && name[1] && strchr("xdat", name[1]);
	default:
		return false;
	}
}

static bool
is_wanted(const struct symbol_reader *reader, const GElf_Sym *symbol, const GElf_Shdr *section)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: {
		const char *name = reader->names.text + symbol->st_name;

		return section->sh_flags & SHF_EXECINSTR && strncmp(name, ".L", 2) != 0 &&
		       !is_mapping_symbol(reader, name);
	}
	default:
		return false;
	}
}

static enum symbol_binding
binding_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

static struct symbol_candidate
candidate_of(const struct symbol_reader *reader, const GElf_Sym *symbol)
{
	const char *name = reader->names.text + symbol->st_name;

	return (struct symbol_candidate){
		.size = symbol->st_size,
		.name = name,
		.name_length = elf_symbol_name_length(name),
		.binding = binding_of(symbol),
		.label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE,
	};
}

static int
add_variable(const struct symbol_reader *reader, const GElf_Sym *symbol, const GElf_Shdr *section)
{
	struct symbol_candidate candidate = candidate_of(reader, symbol);

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size || !(section->sh_flags & SHF_ALLOC) ||
	    symbol->st_value < section->sh_addr || symbol->st_value - section->sh_addr >= section->sh_size)
		return 0;
	candidate.offset = symbol->st_value;
	candidate.limit = section->sh_addr + section->sh_size;
	return symbol_builder_add(reader->builder, &candidate);
}

static int
add_function(const struct symbol_reader *reader, const GElf_Sym *symbol, const GElf_Shdr *section)
{
	uint64_t address = symbol->st_value;
	const struct elf_segment *segment;
	struct symbol_candidate candidate;
	uint64_t room;

	if (!is_wanted(reader, symbol, section))
		return 0;
	if (reader->file->header.e_machine == EM_ARM)
		address &= ~(uint64_t)1; /* the lowest bit says Thumb */
	segment = elf_segments_at_address(reader->segments, address);
	if (!segment || !segment->executable || address < section->sh_addr ||
	    address - section->sh_addr >= section->sh_size)
		return 0;
	room = segment->size - (address - segment->address);
	if (section->sh_size - (address - section->sh_addr) < room)
		room = section->sh_size - (address - section->sh_addr);
	candidate = candidate_of(reader, symbol);
	candidate.offset = elf_segment_offset(segment, address);
	candidate.limit = candidate.offset + room;
	return symbol_builder_add(reader->builder, &candidate);
}

static int
add_symbol(const struct symbol_reader *reader, const GElf_Sym *symbol)
{
	const GElf_Shdr *section;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= reader->section_count || symbol->st_name == 0 ||
	    symbol->st_name >= reader->names.size)
		return 0;
	section = &reader->sections[symbol->st_shndx];
	return reader->of_variables ? add_variable(reader, symbol, section) : add_function(reader, symbol, section);
}

/*
 * Add the functions and code labels in the first section of `type` (SHT_SYMTAB, SHT_DYNSYM) of `file`; `segments` are
 * those of the image; NULL: add the variables. Names point into `file`. 0 (also when there is no such section),
 * -ENOMEM, -DCPI_EDAMAGED.
 */
static int
add_symbols(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments,
            uint32_t type)
{
	struct symbol_reader reader = {
		.builder = builder, .file = file, .segments = segments, .of_variables = !segments};
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr header;
	size_t count;
	int err;

	do
		section = elf_nextscn(file->elf, section);
	while (section && (!gelf_getshdr(section, &header) || header.sh_type != type));
	if (!section)
		return 0;
	err = elf_file_names(file, header.sh_link, &reader.names);
	if (err)
		return err;
	err = read_sections(&reader);
	if (err)
		goto out;
	data = elf_file_entries(file, section);
	if (!data) {
		err = -DCPI_EDAMAGED;
		goto out;
	}
	count = data->d_size / gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; !err && i < count; i++) {
		GElf_Sym symbol;

		err = gelf_getsym(data, (int)i, &symbol) ? add_symbol(&reader, &symbol) : -DCPI_EDAMAGED;
	}
out:
	free(reader.sections);
	return err;
}

/* ---- the bounds of functions without symbols, from .eh_frame ---- */

struct frame_adder {
	struct symbol_builder *builder;
	const struct elf_segments *segments;
};

static int
add_frame(void *context, const struct frame_description *frame)
{
	const struct frame_adder *adder = context;
	const struct elf_segment *segment = elf_segments_at_address(adder->segments, frame->address);
	struct symbol_candidate candidate = {0};

	if (!segment || !segment->executable || frame->size == 0)
		return 0;
	candidate.offset = elf_segment_offset(segment, frame->address);
	candidate.size = frame->size;
	candidate.limit = segment->offset + segment->size;
	return symbol_builder_add(adder->builder, &candidate);
}

/* Add an unnamed range for each frame description in .eh_frame. 0 or -ENOMEM. */
static int
add_call_frames(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments)
{
	struct frame_adder adder = {builder, segments};
	struct call_frames frames;

	if (!call_frames_find_eh_frame(&frames, file, segments))
		return 0;
	return call_frames_each(&frames, add_frame, &adder);
}

/* ---- functions of Go ---- */

static int
add_go_function(void *context, const struct go_function *function)
{
	const struct frame_adder *adder = context;
	const struct elf_segment *segment = elf_segments_at_address(adder->segments, function->address);
	struct symbol_candidate candidate = {.size = function->size, .name = function->name, .binding = SYMBOL_LOCAL};

	if (!segment || !segment->executable || !function->name[0])
		return 0;
	candidate.name_length = (uint32_t)strlen(function->name);
	candidate.offset = elf_segment_offset(segment, function->address);
	candidate.limit = segment->offset + segment->size;
	return symbol_builder_add(adder->builder, &candidate);
}

/* Stripped programs of Go have these names. 0 or -ENOMEM. */
static int
add_go(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments)
{
	struct frame_adder adder = {builder, segments};
	struct go_functions functions;

	return go_functions_find(&functions, file) ? go_functions_each(&functions, add_go_function, &adder) : 0;
}

/* ---- from all sources ---- */

/* Symbols of a helper file: one that is damaged only costs names. */
static int
add_helper(struct symbol_builder *builder, const struct elf_file *helper, const struct elf_segments *segments)
{
	int err = add_symbols(builder, helper, segments, SHT_SYMTAB);

	return err == -DCPI_EDAMAGED ? 0 : err;
}

/* From the image's debug file or, where there is none, from its minidebuginfo, whose names point into `mini`. */
static int
add_split_symbols(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	const struct elf_segments *segments = image_file_segments(file);
	int err;

	image_file_find_debug(file);
	if (image_file_debug(file))
		return add_helper(builder, image_file_debug(file), segments);
	err = elf_file_open_minidebug(mini, image_file_elf(file));
	if (err)
		return err == -ENOMEM ? err : 0;
	return add_helper(builder, mini, segments);
}

static int
add_all_symbols(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	const struct elf_file *main = image_file_elf(file), *debug = image_file_debug(file);
	const struct elf_segments *segments = image_file_segments(file);
	int err;

	if (!main)
		return debug ? add_symbols(builder, debug, segments, SHT_SYMTAB) : 0;
	err = add_symbols(builder, main, segments, SHT_SYMTAB);
	if (err)
		return err;
	err = add_symbols(builder, main, segments, SHT_DYNSYM);
	if (err)
		return err;
	err = add_split_symbols(builder, file, mini);
	if (err)
		return err;
	err = add_call_frames(builder, main, segments);
	if (err)
		return err;
	err = add_go(builder, main, segments);
	if (err)
		return err;
	return plt_add(builder, main, segments);
}

int
symbol_table_from_file(struct image_file *file, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	struct elf_file mini = ELF_FILE_INIT; /* open until the table is made: names point into it */
	int err;

	*table = NULL;
	err = add_all_symbols(&builder, file, &mini);
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	elf_file_close(&mini);
	return err;
}

static int
add_variables(struct symbol_builder *builder, struct image_file *file)
{
	const struct elf_file *main = image_file_elf(file);
	int err = main ? add_symbols(builder, main, NULL, SHT_SYMTAB) : 0;

	if (!err && main)
		err = add_symbols(builder, main, NULL, SHT_DYNSYM);
	if (err)
		return err;
	image_file_find_debug(file);
	return image_file_debug(file) ? add_helper(builder, image_file_debug(file), NULL) : 0;
}

int
symbol_table_of_variables(struct image_file *file, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	int err;

	*table = NULL;
	err = add_variables(&builder, file);
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	return err;
}
