#include "process/process_table.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "process/hash.h"

struct label {
	struct label_set *set;
	size_t owners;
	size_t processes;              /* living ones that have it */
	uint64_t since_ns;             /* while there are any: the time before is counted */
	uint64_t begin_ns, elapsed_ns; /* counted and not taken; the end is since_ns */
	UT_hash_handle hh;
	char text[];
};

struct label_set {
	struct label *all;
	size_t unused; /* labels without owners */
};

struct label_set *
label_set_new(void)
{
	return calloc(1, sizeof(struct label_set));
}

static void
forget_label(struct label_set *set, struct label *label)
{
	HASH_DELETE(hh, set->all, label);
	free(label);
}

void
label_set_free(struct label_set *set)
{
	if (!set)
		return;
	HASH_FREE_ALL(set->all);
	free(set);
}

struct label *
label_set_get(struct label_set *set, const char *text)
{
	const size_t length = strlen(text);
	struct label *label;

	HASH_FIND(hh, set->all, text, length, label);
	if (label) {
		set->unused -= label->owners == 0;
		return label_share(label);
	}
	label = calloc(1, sizeof(*label) + length + 1);
	if (!label)
		return NULL;
	label->set = set;
	label->owners = 1;
	memcpy(label->text, text, length + 1);
	HASH_ADD_KEYPTR(hh, set->all, label->text, length, label);
	if (!hash_added(label)) {
		free(label);
		return NULL;
	}
	return label;
}

struct label *
label_share(struct label *label)
{
	if (label)
		label->owners++;
	return label;
}

void
label_release(struct label *label)
{
	struct label_set *set;

	if (!label || --label->owners > 0)
		return;
	set = label->set;
	if (label->elapsed_ns == 0 || set->unused == LABEL_SET_UNUSED_MAX)
		forget_label(set, label);
	else
		set->unused++;
}

const char *
label_text(const struct label *label)
{
	return label ? label->text : "";
}

static void
count_until(struct label *label, uint64_t time_ns)
{
	if (time_ns <= label->since_ns)
		return;
	if (label->elapsed_ns == 0)
		label->begin_ns = label->since_ns;
	label->elapsed_ns += time_ns - label->since_ns;
	label->since_ns = time_ns;
}

/* No time is counted twice, even when a record of a process comes late. */
void
label_begin_process(struct label *label, uint64_t time_ns)
{
	if (label->processes++ == 0 && time_ns > label->since_ns)
		label->since_ns = time_ns;
}

void
label_end_process(struct label *label, uint64_t time_ns)
{
	if (--label->processes == 0)
		count_until(label, time_ns);
}

int
label_set_take(struct label_set *set, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
               void *context)
{
	struct label *label, *next;
	int result;

	for (label = set->all; label; label = next) {
		next = label->hh.next;
		if (label->processes > 0)
			count_until(label, now_ns);
		if (label->elapsed_ns) {
			const struct label_time time = {label->text, label->begin_ns, label->since_ns,
			                                label->elapsed_ns};

			result = take(context, &time);
			if (result)
				return result;
			label->elapsed_ns = 0;
		}
		if (label->owners == 0) {
			set->unused--;
			forget_label(set, label);
		}
	}
	return 0;
}

/* ---- the processes ---- */

#define PAGE_PIDS    64
#define RECENT_SLOTS 256

struct process_node {
	struct process process;           /* first: callers see only this */
	struct process_node *prev, *next; /* in the list of those that live, or of those that ended */
};

/* The kernel gives pids in order: those of a burst of short processes share a page. */
struct pid_page {
	uint32_t number; /* pid / PAGE_PIDS */
	unsigned used;
	UT_hash_handle hh;
	struct process_node *nodes[PAGE_PIDS];
};

struct process_table {
	struct pid_page *pages;
	struct process_node *living; /* the head is the next one of process_next_living() */
	struct process_node *ended;  /* by end, the oldest first */
	size_t count, ended_count;
	struct pid_page *recent[RECENT_SLOTS]; /* the last one found whose number has this remainder; NULL: gone */
};

struct process_table *
process_table_new(void)
{
	return calloc(1, sizeof(struct process_table));
}

static void
forget_code(struct process *process)
{
	mapped_image_release(process->code);
	process->code = NULL;
	process->code_base = 0;
	free(process->jitdump);
	process->jitdump = NULL;
}

static void
node_free(struct process_node *node)
{
	struct process *process = &node->process;

	process_label(process, NULL);
	process_label_at_exec(process, NULL);
	process_count_label(process, process->ended_ns);
	forget_code(process);
	address_space_release(process->space);
	free(node);
}

void
process_table_free(struct process_table *table)
{
	struct pid_page *page, *next;

	if (!table)
		return;
	page = table->pages;
	HASH_CLEAR(hh, table->pages);
	for (; page; page = next) {
		next = page->hh.next;
		for (size_t i = 0; i < PAGE_PIDS; i++)
			if (page->nodes[i])
				node_free(page->nodes[i]);
		free(page);
	}
	free(table);
}

static struct pid_page **
recent_slot(struct process_table *table, uint32_t number)
{
	return &table->recent[number % RECENT_SLOTS];
}

static struct pid_page *
page_find(struct process_table *table, uint32_t number)
{
	struct pid_page **recent = recent_slot(table, number), *page = *recent;

	if (page && page->number == number)
		return page;
	HASH_FIND(hh, table->pages, &number, sizeof(number), page);
	if (page)
		*recent = page;
	return page;
}

static struct pid_page *
page_ensure(struct process_table *table, uint32_t number)
{
	struct pid_page *page = page_find(table, number);

	if (page)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->number = number;
	HASH_ADD(hh, table->pages, number, sizeof(number), page);
	if (!hash_added(page)) {
		free(page);
		return NULL;
	}
	return page;
}

static void
page_free_unused(struct process_table *table, struct pid_page *page)
{
	struct pid_page **recent = recent_slot(table, page->number);

	if (page->used > 0)
		return;
	if (*recent == page)
		*recent = NULL;
	HASH_DELETE(hh, table->pages, page);
	free(page);
}

static struct process_node *
node_find(struct process_table *table, uint32_t pid)
{
	const struct pid_page *page = page_find(table, pid / PAGE_PIDS);

	return page ? page->nodes[pid % PAGE_PIDS] : NULL;
}

struct process *
process_find(struct process_table *table, uint32_t pid)
{
	struct process_node *node = node_find(table, pid);

	return node ? &node->process : NULL;
}

static void
revive(struct process_table *table, struct process_node *node)
{
	if (!node->process.ended)
		return;
	node->process.ended = node->process.outlived = false;
	DL_DELETE(table->ended, node);
	DL_APPEND(table->living, node);
	table->ended_count--;
}

struct process *
process_next_living(struct process_table *table)
{
	struct process_node *node = table->living;

	if (!node)
		return NULL;
	DL_DELETE(table->living, node);
	DL_APPEND(table->living, node);
	return &node->process;
}

struct process *
process_ensure(struct process_table *table, uint32_t pid)
{
	struct process_node *node = node_find(table, pid);
	struct pid_page *page;

	if (node) {
		revive(table, node);
		return &node->process;
	}
	page = page_ensure(table, pid / PAGE_PIDS);
	if (!page)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node) {
		page_free_unused(table, page);
		return NULL;
	}
	node->process.pid = pid;
	page->nodes[pid % PAGE_PIDS] = node;
	page->used++;
	table->count++;
	DL_APPEND(table->living, node);
	return &node->process;
}

struct process *
process_replace(struct process_table *table, uint32_t pid)
{
	struct process *process = process_ensure(table, pid);

	if (!process)
		return NULL;
	process_exec(process, "");
	process_label(process, NULL);
	process_label_at_exec(process, NULL);
	process->scan_ns = process->known_ns = process->mapped_ns = process->exec_ns = 0;
	process->one_thread = true;
	return process;
}

void
process_forget(struct process_table *table, struct process *process)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node that ended is in the table */
	const uint32_t pid = process->pid;
	struct process_node *node = (struct process_node *)process;
	struct pid_page *page = page_find(table, pid / PAGE_PIDS);

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node that ended is in this list */
	DL_DELETE(table->ended, node);
	table->ended_count--;
	table->count--;
	page->nodes[pid % PAGE_PIDS] = NULL;
	page->used--;
	page_free_unused(table, page);
	node_free(node);
}

void
process_end(struct process_table *table, struct process *process, uint64_t now_ns)
{
	struct process_node *node = (struct process_node *)process;

	revive(table, node);
	if (table->ended_count == PROCESS_TABLE_ENDED_MAX)
		process_forget(table, &table->ended->process);
	process->ended = true;
	process->ended_ns = now_ns;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node that has not ended is in this list */
	DL_DELETE(table->living, node);
	DL_APPEND(table->ended, node);
	table->ended_count++;
}

void
process_outlive_main(struct process_table *table, struct process *process, uint64_t now_ns)
{
	process->outlived = true;
	process_count_label(process, process->ended_ns);
	process_end(table, process, now_ns);
	process->outlived = true;
}

void
process_rename(struct process *process, const char *comm)
{
	size_t length = strnlen(comm, COMM_SIZE - 1);

	memcpy(process->comm, comm, length);
	process->comm[length] = '\0';
	process->context.session = 0;
}

void
process_clear(struct process *process)
{
	address_space_release(process->space);
	process->space = NULL;
	process->incomplete = false;
}

void
process_exec(struct process *process, const char *comm)
{
	process_clear(process);
	process_rename(process, comm);
	forget_code(process);
}

void
process_label(struct process *process, struct label *label)
{
	label_share(label);
	label_release(process->label);
	process->label = label;
	process->context.session = 0;
}

void
process_label_at_exec(struct process *process, struct label *label)
{
	label_share(label);
	label_release(process->label_at_exec);
	process->label_at_exec = label;
}

void
process_count_label(struct process *process, uint64_t time_ns)
{
	struct label *label = process->ended && !process->outlived ? NULL : process->label;

	if (label == process->counted)
		return;
	if (process->counted) {
		label_end_process(process->counted, time_ns);
		label_release(process->counted);
	}
	process->counted = label_share(label);
	if (label)
		label_begin_process(label, time_ns);
}

bool
process_take_label(struct process *process)
{
	if (!process->label_at_exec)
		return false;
	process_label(process, process->label_at_exec);
	process_label_at_exec(process, NULL);
	return true;
}

struct process *
process_next(const struct process_table *table, const struct process *process)
{
	struct process_node *node = process ? ((const struct process_node *)process)->next : table->living;

	return node ? &node->process : NULL;
}

struct process *
process_expired(struct process_table *table, uint64_t until_ns)
{
	struct process_node *node = table->ended;

	return node && node->process.ended_ns <= until_ns ? &node->process : NULL;
}

size_t
process_table_size(const struct process_table *table)
{
	return table->count;
}
