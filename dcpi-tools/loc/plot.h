/*
 * plot.h - a picture of loops by their scores: the plane of spatial and temporal locality
 *
 * gnuplot draws it (dcpi-tools/common/picture.h). Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_PLOT_H
#define DCPI_TOOLS_LOC_PLOT_H

#include "dcpi-tools/loc/profile.h"

/*
 * Draw each loop whose reuse is known, as large as its share of the references, those with most of them by number and
 * name, the mean of all, and three kernels that Diniz and Krishna published. STATUS_OK, or an exit status after a
 * message.
 */
int loc_plot(const struct loc_profile *profile, const char *path);

#endif
