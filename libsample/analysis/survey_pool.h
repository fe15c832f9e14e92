/*
 * survey_pool.h - threads that analyse procedures of one image ahead of who visits them (private to this room)
 *
 * What is taken comes in the order in which it was put, so that it does not matter how many threads there are. Only a
 * few analyses are made ahead. The thread that made the pool puts and takes; a fault while an image is read is its
 * guard's (base/guard.h).
 */
#ifndef DCPI_ANALYSIS_SURVEY_POOL_H
#define DCPI_ANALYSIS_SURVEY_POOL_H

#include "analysis/procedure.h"

struct survey_pool;

/* A thread for each CPU that this process may run on. NULL where there is one only, or none can be had. */
struct survey_pool *survey_pool_new(const struct procedure_input *input);
void survey_pool_free(struct survey_pool *pool); /* also with some that were not taken; NULL is allowed */

bool survey_pool_is_full(const struct survey_pool *pool);
void survey_pool_put(struct survey_pool *pool, const struct symbol *symbol); /* if it is not full */

/* What procedure_analyze() said of the first that was put and not taken yet; there must be one. */
int survey_pool_take(struct survey_pool *pool, struct procedure_analysis **analysis);

#endif
