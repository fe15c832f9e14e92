/*
 * salvage.h - `dcpictl salvage`: what is whole in a damaged database, into a new one
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_SALVAGE_H
#define DCPI_TOOLS_CTL_SALVAGE_H

/* Says what was kept and what was lost. An exit status; STATUS_EMPTY when there was nothing to keep. */
int salvage_database(const char *directory, const char *target);

#endif
