/*
 * dcpiemu - run a program as if on another machine, and profile it there
 *
 * Its commands are in dcpi-tools/emu/, the model is in emulator/, and man/dcpiemu.1.scd describes it.
 */
#include <argp.h>

#include "base/array.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/emu/command.h"

const char *argp_program_version = "dcpiemu " DCPI_VERSION;

static const struct subcommand commands[] = {
	{"run", "dcpiemu run", run_main},
	{"sweep", "dcpiemu sweep", sweep_main},
	{"machines", "dcpiemu machines", machines_main},
	{"calibrate", "dcpiemu calibrate", calibrate_main},
};

static const struct subcommands tool = {
	.tool = "dcpiemu",
	.arguments = "run|sweep --machine NAME [OPTION]... [--] PROGRAM [ARGUMENT]...\nmachines\ncalibrate",
	.doc = "Run a program as if on another machine: with its cores, caches and memory, in its time; and profile it "
	       "there.\v"
	       "run        once, with a report of where the time would have gone\n"
	       "sweep      on several machines, with several numbers of threads, and a picture\n"
	       "machines   those that are described, and how to describe another\n"
	       "calibrate  measure this machine, and describe it\n\n"
	       "'dcpiemu COMMAND --help' has the options of each. See dcpiemu(1).",
	.damage = "the database or the record of the run is damaged",
	.commands = commands,
	.count = ARRAY_COUNT(commands),
};

int
main(int argc, char **argv)
{
	return tool_run_subcommand(&tool, argc, argv);
}
