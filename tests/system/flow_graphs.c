/*
 * flow_graphs.c - builds the flow graph of every procedure of the files it is given, for tests/system/flow_graphs.sh
 *
 * flow_graphs [-v] FILE...: one line of totals ("files 3 procedures 4711 ..."), and a line for each graph that is not
 * sound or whose classes are not. -v: also a line for each procedure with jumps that are not resolved. Status 1 when a
 * graph is not sound.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/error.h"
#include "code/cycle_equivalence.h"
#include "code/procedures.h"
#include "tests/unit/code/flow_graph_check.h"

struct graph_totals {
	size_t files, procedures, instructions, blocks, edges, incomplete;
	size_t jumping, resolved;            /* procedures with indirect jumps; all of them resolved */
	size_t tables, pointers, unresolved; /* jumps */
	size_t switching, switches_resolved; /* procedures with more than tail calls */
	size_t faults;
	double slowest_ms;
	char slowest[256];
	bool is_verbose;
};

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
jumps_count(struct graph_totals *totals, const struct flow_graph *graph, const char *path, const char *name)
{
	uint32_t jumps = graph->table_jumps + graph->pointer_jumps + graph->unresolved_jumps;

	totals->incomplete += !graph->is_complete;
	if (!jumps)
		return;
	totals->jumping++;
	totals->resolved += !graph->unresolved_jumps;
	totals->tables += graph->table_jumps;
	totals->pointers += graph->pointer_jumps;
	totals->unresolved += graph->unresolved_jumps;
	if (graph->table_jumps || graph->unresolved_jumps) {
		totals->switching++;
		totals->switches_resolved += !graph->unresolved_jumps;
	}
	if (graph->unresolved_jumps && totals->is_verbose)
		printf("%s %s %#" PRIx64 ": %" PRIu32 " of %" PRIu32 " jumps\n", path, name ? name : "?",
		       graph->instructions[0].address, graph->unresolved_jumps, jumps);
}

/* What a class means: its members' numbers are below the count of classes, and each number is used. */
static const char *
classes_fault(const struct flow_graph *graph)
{
	struct cycle_equivalence equivalence;
	const char *fault = NULL;
	size_t used = 0;

	if (cycle_equivalence_find(graph, &equivalence))
		return "no classes";
	for (size_t i = 0; i < graph->block_count + graph->edge_count; i++) {
		uint32_t class = i < graph->block_count ? equivalence.block_classes[i]
		                                        : equivalence.edge_classes[i - graph->block_count];

		if (class > used || class >= equivalence.class_count)
			fault = "classes are not numbered in order";
		used += class == used;
	}
	cycle_equivalence_fini(&equivalence);
	return fault;
}

static void
procedure_look(struct graph_totals *totals, struct procedures *procedures, const struct symbol *symbol,
               const char *path)
{
	struct flow_graph *graph;
	double start = now_ms(), took;
	const char *fault;
	int err = procedures_graph(procedures, symbol, &graph);

	if (err == -ENOENT)
		return;
	if (err) {
		printf("%s %s: %s\n", path, symbol->name ? symbol->name : "?", error_text(err));
		totals->faults++;
		return;
	}
	took = now_ms() - start;
	if (took > totals->slowest_ms) {
		totals->slowest_ms = took;
		snprintf(totals->slowest, sizeof(totals->slowest), "%zu instructions of %s in %s",
		         graph->instruction_count, symbol->name ? symbol->name : "?", path);
	}
	fault = flow_graph_fault(graph);
	if (!fault)
		fault = classes_fault(graph);
	if (fault) {
		printf("%s %s: %s\n", path, symbol->name ? symbol->name : "?", fault);
		totals->faults++;
	}
	totals->procedures++;
	totals->instructions += graph->instruction_count;
	totals->blocks += graph->block_count;
	totals->edges += graph->edge_count;
	jumps_count(totals, graph, path, symbol->name);
	flow_graph_free(graph);
}

static int
file_look(struct graph_totals *totals, const struct image *image)
{
	struct symbol_table *symbols = NULL;
	struct image_contents *contents = NULL;
	struct procedures *procedures = NULL;
	struct image_file *file;
	int err = image_file_open(image, &file);

	if (err)
		return err;
	err = symbol_table_from_file(file, &symbols);
	if (!err)
		err = image_contents_new(file, &contents);
	if (!err) {
		procedures = procedures_new(file, symbols, contents);
		err = procedures ? 0 : -errno;
	}
	for (size_t i = 0; !err && i < symbol_table_size(symbols); i++) {
		const struct symbol *symbol = symbol_table_at(symbols, i);

		procedure_look(totals, procedures, symbol, image->path);
	}
	totals->files += !err;
	procedures_free(procedures);
	image_contents_free(contents);
	symbol_table_free(symbols);
	image_file_close(file);
	return err;
}

int
main(int count, char **paths)
{
	struct graph_totals totals = {0};
	struct rusage usage;

	for (int i = 1; i < count; i++) {
		struct image image = {.kind = IMAGE_USER, .path = paths[i]};
		struct stat status;

		if (strcmp(paths[i], "-v") == 0) {
			totals.is_verbose = true;
			continue;
		}
		if (stat(paths[i], &status))
			continue;
		image.device_major = major(status.st_dev);
		image.device_minor = minor(status.st_dev);
		image.inode = status.st_ino;
		file_look(&totals, &image); /* what is no ELF file of ours is passed */
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("files %zu procedures %zu instructions %zu blocks %zu edges %zu incomplete %zu jumping %zu resolved %zu "
	       "switching %zu switches_resolved %zu tables %zu pointers %zu unresolved %zu faults %zu memory_mib %ld "
	       "seconds %ld slowest_ms %.1f of %s\n",
	       totals.files, totals.procedures, totals.instructions, totals.blocks, totals.edges, totals.incomplete,
	       totals.jumping, totals.resolved, totals.switching, totals.switches_resolved, totals.tables,
	       totals.pointers, totals.unresolved, totals.faults, usage.ru_maxrss / 1024, (long)usage.ru_utime.tv_sec,
	       totals.slowest_ms, totals.slowest);
	return totals.faults != 0;
}
