/*
 * report_tables.h - the tables of the report as text, each with an empty line behind it
 *
 * 0, -ENOMEM, or what went wrong in writing. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_REPORT_TABLES_H
#define DCPI_TOOLS_EMU_REPORT_TABLES_H

#include "dcpi-tools/emu/report.h"

int emu_report_print_reasons(const struct emulation_report *report,
                             FILE *stream); /* cycles, by what they were spent on */
int emu_report_print_levels(const struct emulation_report *report, FILE *stream);  /* caches, TLBs, branches */
int emu_report_print_nodes(const struct emulation_report *report, FILE *stream);   /* bytes moved */
int emu_report_print_threads(const struct emulation_report *report, FILE *stream); /* of programs that have several */
int emu_report_print_programs(const struct emulation_report *report, FILE *stream);

#endif
