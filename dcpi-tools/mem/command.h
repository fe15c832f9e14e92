/*
 * command.h - the commands of dcpimem; copy_cost.h has one more, which is not for users
 *
 * argv[0] is "dcpimem COMMAND"; the result is the exit status. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_COMMAND_H
#define DCPI_TOOLS_MEM_COMMAND_H

int mem_run_main(int argc, char **argv);
int mem_record_main(int argc, char **argv);
int mem_import_main(int argc, char **argv);
int mem_objects_main(int argc, char **argv);
int mem_object_main(int argc, char **argv);
int mem_threads_main(int argc, char **argv);

#endif
