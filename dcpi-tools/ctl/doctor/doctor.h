/*
 * doctor.h - `dcpictl doctor`: what this machine can count, what is in the way, what has no symbols
 *
 * man/dcpictl.1.scd describes it. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_DOCTOR_DOCTOR_H
#define DCPI_TOOLS_CTL_DOCTOR_DOCTOR_H

#include "dcpi-tools/ctl/doctor/checks.h"

/* Fill in what is about this machine and its user; `directory` is borrowed, the rest is the caller's to add. */
void doctor_surroundings(struct surroundings *around, const char *directory);

/* Look at everything; sorted. 0, or -ENOMEM. */
int doctor_examine(const struct surroundings *around, struct ctl_findings *findings);

/* Print for people, or as JSON (dcpictl-doctor/1). 0 or a negative error. */
int doctor_print(const struct ctl_findings *findings);
int doctor_print_json(const struct ctl_findings *findings);

/* STATUS_OK when nothing is in the way, else STATUS_FAILURE. */
int doctor_status(const struct ctl_findings *findings);

#endif
