/*
 * dcpimem - which memory objects are accessed remotely or shared falsely, by which threads, and what to do
 *
 * Its commands are in dcpi-tools/mem/, what they read and decide is in libsample/memory/, and man/dcpimem.1.scd
 * describes it.
 */
#include <argp.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/copy_cost.h"

const char *argp_program_version = "dcpimem " DCPI_VERSION;

static const struct subcommand commands[] = {
	{"run", "dcpimem run", mem_run_main},          {"record", "dcpimem record", mem_record_main},
	{"import", "dcpimem import", mem_import_main}, {"objects", "dcpimem objects", mem_objects_main},
	{"object", "dcpimem object", mem_object_main}, {"threads", "dcpimem threads", mem_threads_main},
	{"script", "dcpimem script", mem_script_main},
};

static const struct subcommands tool = {
	.tool = "dcpimem",
	.arguments = "run [OPTION]... [--] PROGRAM [ARGUMENT]...\nrecord --pid PID [--seconds S]\nimport FILE\n"
		     "objects\nobject OBJECT\nthreads\nscript FILE [ARGUMENT]...",
	.doc = "Which memory objects are accessed remotely or shared falsely, by which threads, and what to do.\v"
	       "run        a program: track its objects, sample its accesses, and report\n"
	       "record     a process that runs, for a while\n"
	       "import     what perf mem or perf c2c recorded\n"
	       "objects    by what they cost, and what could be done\n"
	       "object     one of them: who accesses it, when, from where\n"
	       "threads    with the nodes and the objects that they access\n"
	       "script     in Lua, which reads objects and threads, access by access\n\n"
	       "'dcpimem COMMAND --help' has the options of each. See dcpimem(1).",
	.damage = "the database or the record of the run is damaged",
	.commands = commands,
	.count = ARRAY_COUNT(commands),
};

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], COPY_COST_COMMAND) == 0)
		return mem_copy_cost_main(argc - 1, argv + 1);
	return tool_run_subcommand(&tool, argc, argv);
}
