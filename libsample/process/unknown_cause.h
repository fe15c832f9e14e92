/*
 * unknown_cause.h - why a sample has no image
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_UNKNOWN_CAUSE_H
#define DCPI_PROCESS_UNKNOWN_CAUSE_H

/* Stored in the database: append only. Name and sentence for each. */
#define UNKNOWN_CAUSES(X)                                                                                              \
	X(UNKNOWN_PROCESS, "no-process", "the process was never seen")                                                 \
	X(UNKNOWN_ADDRESS, "no-mapping", "the address lies in no known mapping of the process")                        \
	X(UNKNOWN_NAMESPACE, "other-pid-namespace", "the process lives in another pid namespace than dcpid")           \
	X(UNKNOWN_KERNEL_HIDDEN, "kernel-hidden",                                                                      \
	  "kernel addresses are hidden from dcpid (kptr_restrict, CAP_SYSLOG)")                                        \
	X(UNKNOWN_KERNEL_ADDRESS, "kernel-address", "the kernel address lies in no known module or function")          \
	X(UNKNOWN_GUEST, "guest", "taken in a virtual machine's guest")                                                \
	X(UNKNOWN_MODE, "mode", "the processor mode was not recorded")                                                 \
	X(UNKNOWN_MEMORY, "no-memory", "dcpid had no memory to remember the image or its mapping")                     \
	X(UNKNOWN_RECORDS, "records-missed",                                                                           \
	  "a record about the process was lost, or it began on a CPU that had just come online")

enum unknown_cause {
#define UNKNOWN_CAUSE_VALUE(name, id, text) name,
	UNKNOWN_CAUSES(UNKNOWN_CAUSE_VALUE)
#undef UNKNOWN_CAUSE_VALUE
		UNKNOWN_CAUSE_COUNT
};

const char *unknown_cause_name(unsigned cause); /* "no-process", ...; "other" for a number out of range */
const char *unknown_cause_text(unsigned cause);

#endif
