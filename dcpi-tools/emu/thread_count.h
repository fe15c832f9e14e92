/*
 * thread_count.h - how a program is told how many threads to use
 *
 * Thread rule: thread_count_announce() changes the environment; the rest is stateless.
 */
#ifndef DCPI_TOOLS_EMU_THREAD_COUNT_H
#define DCPI_TOOLS_EMU_THREAD_COUNT_H

/* Set the variables that OpenMP and others read. 0 or -errno. */
int thread_count_announce(unsigned threads);

/*
 * A copy of the arguments in which %t is the number, and %% a percent sign. NULL when memory ends; free it with
 * thread_count_free().
 */
char **thread_count_insert(char *const *arguments, unsigned threads);
void thread_count_free(char **arguments);

#endif
