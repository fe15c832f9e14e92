/*
 * min_cost_flow.h - the cheapest circulation in a network
 *
 * Network simplex with strongly feasible trees (Cunningham 1976) and a big-M cost of artificial arcs that rises by
 * stages. It is written here because no C library in Debian is fast enough: see docs/analysis.md. All values are
 * integers, so flow is conserved exactly. No state: any thread.
 */
#ifndef DCPI_ANALYSIS_MIN_COST_FLOW_H
#define DCPI_ANALYSIS_MIN_COST_FLOW_H

#include <stddef.h>
#include <stdint.h>

#define NETWORK_UNLIMITED (INT64_MAX / 4)    /* a capacity */
#define NETWORK_TOTAL_MAX ((int64_t)1 << 52) /* of the capacities of arcs with a negative cost, together */
#define NETWORK_COST_MAX  ((int64_t)1 << 24) /* of an arc, either sign */

struct network_arc {
	uint32_t from, to; /* nodes */
	int64_t capacity;  /* 0 to NETWORK_UNLIMITED; an arc with a negative cost has a limit */
	int64_t cost;      /* per unit of flow */
	int64_t flow;      /* the result: 0 to capacity */
};

/*
 * Set each arc's flow so that it is conserved at each node, and the sum of cost x flow is least. 0; -EINVAL for an arc
 * whose node does not exist, or that breaks the limits above; -ENOMEM; -EAGAIN when it took too many steps: then the
 * flows are cheap but not the cheapest, and not conserved at some nodes.
 */
int min_cost_circulation(struct network_arc *arcs, size_t arc_count, size_t node_count);

#endif
