/*
 * word_trials.h - whether words are written, how often, and by which threads: by the processor's watchpoints
 *
 * A fault of NUMA balancing tells the first access to a page since the last one alone. So words of recent faults, and
 * random words of their pages, are watched, some at a time, until word_trials_next(). Each write is an exception; so a
 * thread's watchpoint is off after some hundred of them, and if that was soon, the word is one that is written often.
 * Of a line that has such a word, the other words are watched, too, also for reads: threads that write words of one
 * line take it from each other, and from those that read others. Words of lines in which several threads have faults
 * take turns. No PMU is needed.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_WORD_TRIALS_H
#define DCPI_TOOLS_MEM_WORD_TRIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/access_history.h"

struct word_trials;

/* `line_bytes` is a power of 2. NULL: no memory. */
struct word_trials *word_trials_new(uint64_t line_bytes, uint64_t page_bytes);
void word_trials_free(struct word_trials *trials); /* NULL is allowed */

/*
 * A fault of process `pid`; `process` is the caller's number for it. `is_first`: of its page, and no reason for a
 * trial: the few pages of what is shared falsely have faults again and again.
 */
void word_trials_sample(struct word_trials *trials, uint32_t process, uint32_t pid, const struct access_sample *sample,
                        bool is_first);

/*
 * A thread wrote to a word: `sample` is that access, from its core's caches (MEMORY_CACHE, MEMORY_STORE). It stands for
 * as many as the sample by which the word was chosen; cycles is 1 if the thread wrote there often. Without MEMORY_STORE
 * the thread read or wrote the word: which it was, other trials of the word tell. MEMORY_WATCHED: no access; a random
 * word of the page of this sample, since its time, was watched for writes of all threads, and what wrote there was
 * handed on. 0, or an error.
 */
typedef int word_trials_write(void *context, uint32_t process, const struct access_sample *sample);

/*
 * Hand on what was written, and watch other words; nothing yet where that was last done a moment ago, and took as long
 * as this moment: at most half of the time is spent here. 0, or what `write` returned.
 */
int word_trials_next(struct word_trials *trials, word_trials_write *write, void *context);

#endif
