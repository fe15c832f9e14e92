#include "dcpi-tools/stats/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/image_name.h"
#include "process/hash.h"

/* A build-id, or a path, and the number of the image that it is one of. */
struct stats_image_name {
	char *text;
	uint32_t image;
	UT_hash_handle hh;
};

struct stats_row_entry {
	struct stats_row row;
	UT_hash_handle hh;
};

struct stats_rows {
	enum stats_row_kind kind;
	size_t set_count;
	bool demangle;
	uint32_t image_count;
	struct stats_image_name *names;
	struct stats_row_entry *by_key;
	struct stats_row_entry **list;
	size_t count, capacity;
};

struct stats_rows *
rows_new(enum stats_row_kind kind, size_t set_count, bool demangle)
{
	struct stats_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->kind = kind;
	rows->set_count = set_count;
	rows->demangle = demangle;
	return rows;
}

static void
row_free(struct stats_row_entry *known)
{
	free(known->row.key);
	free(known->row.title);
	free(known->row.path);
	free(known->row.build_id);
	free(known->row.counts);
	free(known->row.taken);
	free(known->row.squares);
	free(known);
}

void
rows_free(struct stats_rows *rows)
{
	struct stats_image_name *name, *next;

	if (!rows)
		return;
	HASH_CLEAR(hh, rows->by_key);
	for (size_t i = 0; i < rows->count; i++)
		row_free(rows->list[i]);
	free(rows->list);
	name = rows->names;
	HASH_CLEAR(hh, rows->names);
	for (; name; name = next) {
		next = name->hh.next;
		free(name->text);
		free(name);
	}
	free(rows);
}

static const struct stats_image_name *
find_name(const struct stats_rows *rows, const char *text)
{
	struct stats_image_name *name;

	HASH_FIND_STR(rows->names, text, name);
	return name;
}

/* A name that is new becomes one of `image`. 0 or -ENOMEM. */
static int
name_image(struct stats_rows *rows, const char *text, uint32_t image)
{
	struct stats_image_name *name;

	if (find_name(rows, text))
		return 0;
	name = calloc(1, sizeof(*name));
	if (name)
		name->text = strdup(text);
	if (!name || !name->text) {
		free(name);
		return -ENOMEM;
	}
	name->image = image;
	HASH_ADD_KEYPTR(hh, rows->names, name->text, strlen(name->text), name);
	if (hash_added(name))
		return 0;
	free(name->text);
	free(name);
	return -ENOMEM;
}

/* The number of `image` in all sets. UINT32_MAX: no memory. */
static uint32_t
number_image(struct stats_rows *rows, const struct image *image)
{
	char build_id[BUILD_ID_TEXT_SIZE], *path;
	const struct stats_image_name *known;
	uint32_t number;

	/* the prefix of a path cannot be a build-id, and distinguishes kinds of images */
	if (asprintf(&path, "%d:%s", (int)image->kind, image->path) < 0)
		return UINT32_MAX;
	build_id_format(image, build_id);
	known = build_id[0] ? find_name(rows, build_id) : NULL;
	if (!known && (rows->kind != ROW_INSTRUCTION || !build_id[0]))
		known = find_name(rows, path);
	number = known ? known->image : rows->image_count++;
	if ((build_id[0] && name_image(rows, build_id, number)) || name_image(rows, path, number))
		number = UINT32_MAX;
	free(path);
	return number;
}

static struct stats_row_entry *
make_row(const struct stats_rows *rows, const char *key, const char *title, const struct image *image)
{
	struct stats_row_entry *known = calloc(1, sizeof(*known));
	char build_id[BUILD_ID_TEXT_SIZE];

	if (!known)
		return NULL;
	known->row = (struct stats_row){
		.key = strdup(key),
		.title = title ? strdup(title) : NULL,
		.path = strdup(image->path),
		.build_id = strdup(build_id_format(image, build_id)),
		.counts = calloc(rows->set_count, sizeof(*known->row.counts)),
		.taken = calloc(rows->set_count, sizeof(*known->row.taken)),
		.squares = calloc(rows->set_count, sizeof(*known->row.squares)),
	};
	if (known->row.key && (known->row.title || !title) && known->row.path && known->row.build_id &&
	    known->row.counts && known->row.taken && known->row.squares)
		return known;
	row_free(known);
	return NULL;
}

/* The row of that key, made if there is none. NULL: no memory. */
static struct stats_row *
find_row(struct stats_rows *rows, const char *key, const char *title, const struct image *image)
{
	struct stats_row_entry *known, **list;

	HASH_FIND_STR(rows->by_key, key, known);
	if (known)
		return &known->row;
	list = array_grow(rows->list, &rows->capacity, rows->count + 1, sizeof(struct stats_row_entry *));
	if (!list)
		return NULL;
	rows->list = list;
	known = make_row(rows, key, title, image);
	if (!known)
		return NULL;
	HASH_ADD_KEYPTR(hh, rows->by_key, known->row.key, strlen(known->row.key), known);
	if (!hash_added(known)) {
		row_free(known);
		return NULL;
	}
	rows->list[rows->count++] = known;
	return &known->row;
}

/* A piece of code of the set that is added. */
struct stats_piece {
	uint32_t image; /* of the selection */
	struct procedure procedure;
	char *title; /* NULL by image */
	struct stats_total sum;
};

struct stats_adding {
	struct stats_rows *rows;
	const struct stats_addition *addition;
	struct stats_piece *pieces;
	size_t count, capacity;
};

static int
compare_pieces(const void *left, const void *right)
{
	const struct stats_piece *a = left, *b = right;
	int order = (a->image > b->image) - (a->image < b->image);

	if (!order && a->title)
		order = strcmp(a->title, b->title);
	return order ? order
	             : (a->procedure.offset > b->procedure.offset) - (a->procedure.offset < b->procedure.offset);
}

static bool
is_same_procedure(const struct procedure *left, const struct procedure *right)
{
	return left->kind == right->kind && left->offset == right->offset;
}

static struct stats_piece *
new_piece(struct stats_adding *adding, uint32_t image, const struct procedure *procedure)
{
	struct stats_piece *pieces = array_grow(adding->pieces, &adding->capacity, adding->count + 1, sizeof(*pieces));
	const struct stats_rows *rows = adding->rows;
	struct stats_piece *piece;

	if (!pieces)
		return NULL;
	adding->pieces = pieces;
	piece = &pieces[adding->count];
	*piece = (struct stats_piece){.image = image, .procedure = *procedure};
	if (rows->kind != ROW_IMAGE) {
		piece->title =
			procedure_title(procedure, adding->addition->selection->images[image].image, rows->demangle);
		if (!piece->title)
			return NULL;
	}
	adding->count++;
	return piece;
}

static void
total_add(struct stats_total *total, const struct selection_count *count)
{
	total->count += count->count;
	total->taken += count->taken;
	total->squares += count->squares;
}

static void
row_add(struct stats_row *row, size_t set, uint64_t count, uint64_t taken, double squares)
{
	row->counts[set] += count;
	row->taken[set] += taken;
	row->squares[set] += squares;
}

/* "smooth_+0x1c", and a key that holds in this build. */
static int
add_instruction(const struct stats_adding *adding, const struct selection_count *count, const struct stats_piece *piece)
{
	const struct image *image = adding->addition->selection->images[count->image].image;
	uint32_t number = number_image(adding->rows, image);
	char *key = NULL, *title = NULL;
	struct stats_row *row = NULL;

	if (number != UINT32_MAX && asprintf(&key, "%" PRIu32 ":%" PRIx64, number, count->offset) >= 0 &&
	    asprintf(&title, "%s+0x%" PRIx64, piece->title, count->offset - piece->procedure.offset) >= 0)
		row = find_row(adding->rows, key, title, image);
	free(key);
	free(title);
	if (!row)
		return -ENOMEM;
	row_add(row, adding->addition->set, count->count, count->taken, count->squares);
	return 0;
}

static int
add_count(struct stats_adding *adding, const struct selection_count *count)
{
	const struct stats_addition *addition = adding->addition;
	struct stats_piece *last = adding->count ? &adding->pieces[adding->count - 1] : NULL;
	struct procedure procedure = {0};
	int err = 0;

	if (adding->rows->kind != ROW_IMAGE)
		err = symbolizer_find(addition->symbolizer, &addition->selection->images[count->image], count->offset,
		                      &procedure);
	if (err)
		return err;
	if (!last || last->image != count->image || !is_same_procedure(&last->procedure, &procedure))
		last = new_piece(adding, count->image, &procedure);
	if (!last)
		return -ENOMEM;
	total_add(&last->sum, count);
	return adding->rows->kind == ROW_INSTRUCTION ? add_instruction(adding, count, last) : 0;
}

/* Each piece to the row that it is one of: of those with one name in one image the first, the second, ... */
static int
add_pieces(struct stats_adding *adding)
{
	const struct stats_piece *last = NULL;
	unsigned nth = 0;

	qsort(adding->pieces, adding->count, sizeof(*adding->pieces), compare_pieces);
	for (size_t i = 0; i < adding->count; i++) {
		const struct stats_piece *piece = &adding->pieces[i];
		const struct image *image = adding->addition->selection->images[piece->image].image;
		uint32_t number = number_image(adding->rows, image);
		struct stats_row *row = NULL;
		char *key;

		if (!last || last->image != piece->image || (piece->title && strcmp(last->title, piece->title) != 0))
			nth = 0;
		else
			nth += !is_same_procedure(&last->procedure, &piece->procedure);
		if (number == UINT32_MAX ||
		    asprintf(&key, "%" PRIu32 ":%u:%s", number, nth, piece->title ? piece->title : "") < 0)
			return -ENOMEM;
		row = find_row(adding->rows, key, piece->title, image);
		free(key);
		if (!row)
			return -ENOMEM;
		row_add(row, adding->addition->set, piece->sum.count, piece->sum.taken, piece->sum.squares);
		last = piece;
	}
	return 0;
}

int
rows_add(struct stats_rows *rows, const struct stats_addition *addition, struct stats_total *total)
{
	struct stats_adding adding = {.rows = rows, .addition = addition};
	const struct selection *selection = addition->selection;
	int err = 0;

	*total = (struct stats_total){0};
	for (size_t i = 0; i < selection->count_count && !err; i++) {
		const struct selection_count *count = &selection->counts[i];

		if (count->event != addition->event || (addition->wanted && !addition->wanted[count->image]))
			continue;
		total_add(total, count);
		err = add_count(&adding, count);
	}
	if (!err && rows->kind != ROW_INSTRUCTION && adding.count > 0)
		err = add_pieces(&adding);
	for (size_t i = 0; i < adding.count; i++)
		free(adding.pieces[i].title);
	free(adding.pieces);
	return err;
}

size_t
rows_count(const struct stats_rows *rows)
{
	return rows->count;
}

const struct stats_row *
rows_get(const struct stats_rows *rows, size_t index)
{
	return &rows->list[index]->row;
}
