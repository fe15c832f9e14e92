/*
 * compare_trace - are emulator/model/'s caches and TLBs the reference, access for access, on a recorded trace?
 *
 * compare_trace MACHINE.conf <TRACE: each access goes through both, on one core and without prefetchers. Prints the
 * reference's counts as JSON, with how many accesses differ, and the first of them. 0; 2 when it cannot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emulator/setup.h"
#include "tests/system/trace_record.h"
#include "tests/unit/emulator/reference_core.h"
#include "emulator/model/hierarchy.h"

#define CYCLES_APART 1000000 /* accesses do not meet */
#define RECORDS      4096

struct trace_counts {
	uint64_t accesses, missed[MACHINE_LEVELS_MAX], tlb_missed, walked;
};

struct trace_comparison {
	struct machine machine;
	struct memory_system *memory;
	struct hierarchy *hierarchy;
	struct reference_core reference;
	struct trace_counts fetches, loads, stores;
	uint64_t now, accesses, differ, first_address, first_index;
};

static int
begin(struct trace_comparison *comparison, const char *path)
{
	char why[512];

	if (machine_load(path, &comparison->machine, why, sizeof(why))) {
		fprintf(stderr, "compare_trace: %s\n", why);
		return -1;
	}
	comparison->machine.prefetcher_count = 0;
	comparison->memory = memory_system_new(&comparison->machine, SETUP_CACHES | SETUP_TLBS, 0, 1);
	comparison->hierarchy = comparison->memory ? hierarchy_new(comparison->memory, 0, FILTER_NO_ROOM) : NULL;
	if (!comparison->hierarchy)
		return -1;
	comparison->reference = reference_core_new(&comparison->machine);
	return 0;
}

/* As the plugin does it: what the filter knows goes no further. */
static struct access_result
model_access(struct trace_comparison *comparison, uint64_t address, char kind)
{
	struct access_result result = {0};
	struct hit_filter *filter = kind == TRACE_FETCH ? hierarchy_code_filter(comparison->hierarchy)
	                                                : hierarchy_data_filter(comparison->hierarchy);
	const uint64_t line = address >> filter->line_shift;

	if (filter_use(filter, kind == TRACE_STORE, line, address >> filter->page_shift))
		return result;
	comparison->now += CYCLES_APART;
	if (kind == TRACE_FETCH)
		hierarchy_fetch(comparison->hierarchy, address, comparison->now, &result);
	else if (kind == TRACE_STORE)
		hierarchy_store(comparison->hierarchy, address, 1, comparison->now, comparison->now, &result);
	else
		hierarchy_load(comparison->hierarchy, address, 1, comparison->now, &result);
	return result;
}

static void
count(struct trace_comparison *comparison, const struct reference_result *result, char kind)
{
	struct trace_counts *counts = kind == TRACE_FETCH  ? &comparison->fetches
	                              : kind == TRACE_LOAD ? &comparison->loads
	                                                   : &comparison->stores;

	counts->accesses++;
	counts->tlb_missed += result->tlb_missed;
	counts->walked += result->walked;
	for (unsigned level = 0; level < result->level && level < comparison->machine.level_count; level++)
		counts->missed[level]++;
}

static void
compare_line(struct trace_comparison *comparison, uint64_t address, char kind)
{
	const struct reference_result expected = reference_core_access(&comparison->reference, address, kind);
	const struct access_result result = model_access(comparison, address, kind);

	count(comparison, &expected, kind);
	comparison->accesses++;
	if (result.level == expected.level && result.tlb_missed == expected.tlb_missed &&
	    result.walked == expected.walked)
		return;
	if (comparison->differ++ == 0) {
		comparison->first_address = address;
		comparison->first_index = comparison->accesses;
	}
}

static void
compare_record(struct trace_comparison *comparison, const struct trace_record *record)
{
	const uint64_t end = record->address + record->size, line_bytes = comparison->machine.line_bytes;

	for (uint64_t address = record->address; address < end; address = (address | (line_bytes - 1)) + 1)
		compare_line(comparison, address, (char)record->kind);
}

static void
print_counts(const struct trace_comparison *comparison, const char *name, const struct trace_counts *counts)
{
	printf("\"%s\": {\"accesses\": %" PRIu64 ", \"missed\": [", name, counts->accesses);
	for (unsigned level = 0; level < comparison->machine.level_count; level++)
		printf("%s%" PRIu64, level ? ", " : "", counts->missed[level]);
	printf("], \"tlb_missed\": %" PRIu64 ", \"walked\": %" PRIu64 "}, ", counts->tlb_missed, counts->walked);
}

static void
print(const struct trace_comparison *comparison)
{
	const uint64_t written_back = hierarchy_traffic(comparison->hierarchy).written_back;

	putchar('{');
	print_counts(comparison, "fetches", &comparison->fetches);
	print_counts(comparison, "loads", &comparison->loads);
	print_counts(comparison, "stores", &comparison->stores);
	printf("\"written_back\": %" PRIu64 ", \"model_written_back\": %" PRIu64 ", ",
	       comparison->reference.written_back, written_back);
	printf("\"accesses\": %" PRIu64 ", \"differ\": %" PRIu64 ", \"first\": \"%" PRIu64 " at %" PRIx64 "\"}\n",
	       comparison->accesses, comparison->differ, comparison->first_index, comparison->first_address);
}

int
main(int argc, char **argv)
{
	static struct trace_record records[RECORDS];
	static struct trace_comparison comparison;
	size_t count;
	int status = 2;

	if (argc == 2 && begin(&comparison, argv[1]) == 0) {
		while ((count = fread(records, sizeof(records[0]), RECORDS, stdin)) > 0)
			for (size_t i = 0; i < count; i++)
				compare_record(&comparison, &records[i]);
		print(&comparison);
		reference_core_free(&comparison.reference);
		status = ferror(stdin) ? 2 : 0;
	}
	hierarchy_free(comparison.hierarchy);
	memory_system_free(comparison.memory);
	return status;
}
