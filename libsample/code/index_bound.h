/*
 * index_bound.h - how large the index of a jump table can be (private to this room)
 */
#ifndef DCPI_CODE_INDEX_BOUND_H
#define DCPI_CODE_INDEX_BOUND_H

#include "code/definitions.h"

/*
 * How many values register `reg` may have before instruction `at`: by the comparison and branch before it - then
 * *is_compared - or at most, by a mask or the width of what was loaded. 0: not known.
 */
uint32_t index_bound(struct tracer *tracer, uint32_t at, uint8_t reg, bool *is_compared);

#endif
