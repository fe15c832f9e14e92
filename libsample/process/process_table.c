#include "process/process_table.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "process/hash.h"

#define RECENT_SLOTS 1024

struct process_node {
	struct process process; /* first: the outside sees only this */
	UT_hash_handle hh;
	struct process_node *prev, *next; /* in the list of those that live, or of those that ended */
};

struct process_table {
	struct process_node *by_pid;
	struct process_node *living; /* the head is the one whose turn it is */
	struct process_node *ended;  /* the one that ended first is the head */
	size_t ended_count;
	struct process_node *recent[RECENT_SLOTS]; /* found last under a pid of this slot; NULL when it is gone */
};

struct process_table *
process_table_new(void)
{
	return calloc(1, sizeof(struct process_table));
}

static void
node_free(struct process_node *node)
{
	address_space_release(node->process.space);
	free(node);
}

void
process_table_free(struct process_table *table)
{
	struct process_node *node, *next;

	if (!table)
		return;
	node = table->by_pid;
	HASH_CLEAR(hh, table->by_pid);
	for (; node; node = next) {
		next = node->hh.next;
		node_free(node);
	}
	free(table);
}

static struct process_node **
recent_slot(struct process_table *table, uint32_t pid)
{
	return &table->recent[pid % RECENT_SLOTS];
}

static struct process_node *
node_find(struct process_table *table, uint32_t pid)
{
	struct process_node **recent = recent_slot(table, pid), *node = *recent;

	if (node && node->process.pid == pid)
		return node;
	HASH_FIND(hh, table->by_pid, &pid, sizeof(pid), node);
	if (node)
		*recent = node;
	return node;
}

struct process *
process_find(struct process_table *table, uint32_t pid)
{
	struct process_node *node = node_find(table, pid);

	return node ? &node->process : NULL;
}

static struct process_node *
node_new(struct process_table *table, uint32_t pid)
{
	struct process_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->process.pid = pid;
	HASH_ADD(hh, table->by_pid, process.pid, sizeof(pid), node);
	if (!hash_added(node)) {
		free(node);
		return NULL;
	}
	DL_APPEND(table->living, node);
	return node;
}

static void
revive(struct process_table *table, struct process_node *node)
{
	if (!node->process.ended)
		return;
	node->process.ended = false;
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

	if (!node)
		node = node_new(table, pid);
	if (!node)
		return NULL;
	revive(table, node);
	return &node->process;
}

struct process *
process_renew(struct process_table *table, uint32_t pid)
{
	struct process *process = process_ensure(table, pid);

	if (!process)
		return NULL;
	process_exec(process, "");
	process->scan_ns = 0;
	return process;
}

void
process_forget(struct process_table *table, struct process *process)
{
	struct process_node *node = (struct process_node *)process, **recent = recent_slot(table, process->pid);

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node that ended is in this list */
	DL_DELETE(table->ended, node);
	table->ended_count--;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node that ended is in the table */
	HASH_DELETE(hh, table->by_pid, node);
	if (*recent == node)
		*recent = NULL;
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
process_rename(struct process *process, const char *comm)
{
	size_t length = strnlen(comm, COMM_SIZE - 1);

	memcpy(process->comm, comm, length);
	process->comm[length] = '\0';
	process->context.valid = false;
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
	return HASH_COUNT(table->by_pid);
}
