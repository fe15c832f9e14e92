/*
 * abandoned.h - emulators whose tool was killed, and what they recorded for nobody
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_TOOLS_ABANDONED_H
#define DCPI_TOOLS_ABANDONED_H

/*
 * Kill what was started with a plugin in the directory of a run - the emulated program, its children, what they
 * executed - until there is none of it, for half a minute at most; then remove the directory. Programs that went on
 * without the emulator go on.
 */
void abandoned_end(const char *directory);

/* Remove a directory and the files in it; one that is not there is none. */
void abandoned_remove(const char *directory);

#endif
