/*
 * command.h - the commands of dcpiemu: each has options of its own
 *
 * argv[0] is "dcpiemu COMMAND". The exit status.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_COMMAND_H
#define DCPI_TOOLS_EMU_COMMAND_H

#include <argp.h>

#include "emulator/setup.h"

int run_main(int argc, char **argv);
int sweep_main(int argc, char **argv);
int machines_main(int argc, char **argv);
int calibrate_main(int argc, char **argv);

/* Read a command's options. 0, or an exit status after a message. */
int command_parse(const struct argp *argp, int argc, char **argv, void *request);

/* Fill in machine and pipeline. STATUS_OK, or an exit status after a message. */
int command_choose_machine(const char *choice, struct setup *setup);

#endif
