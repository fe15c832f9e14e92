/*
 * attribution_state.h - what attribution.c, attribution_apply.c and attribution_sample.c share
 */
#ifndef DCPI_PROCESS_ATTRIBUTION_STATE_H
#define DCPI_PROCESS_ATTRIBUTION_STATE_H

#include "process/address_space.h"
#include "process/attribution.h"
#include "process/attribution_found.h"
#include "process/attribution_labels.h"
#include "process/cgroup_table.h"
#include "process/image_of_mapping.h"
#include "process/kernel_map.h"
#include "process/process_birth.h"
#include "process/process_table.h"

#define PID_IDLE    0
#define PID_FOREIGN UINT32_MAX

/* A label whose moment has not come. */
struct label_waiting {
	uint64_t time_ns;
	uint32_t pid;
	enum label_start start;
	struct label *label;
};

struct labels_waiting {
	size_t count, capacity;
	struct label_waiting *list; /* by time */
};

/* Where an image was seen last. Its file is asked about when it was mapped after `asked_ns`, in record time. */
struct seen_place {
	struct image_place place;
	uint64_t asked_ns;
};

/* When processes began, and whose children they are. */
struct kin {
	uint32_t pid;
	struct process_birth birth;
};

struct family {
	size_t count, capacity;
	struct kin *list;
};

/* What is being read of /proc (attribution_found.c). */
struct finding {
	unsigned under_way; /* readings of all processes, or of one */
	uint64_t began_ns;  /* CLOCK_MONOTONIC, when that of all did */
	uint64_t known_ns;  /* the same in record time */
	bool missed;        /* records were, before it began */
	struct family family;

	/* the process that is being told */
	uint32_t pid; /* 0: none, or nothing of it is news */
	uint64_t time_ns;
	bool any; /* mapping of it */
	bool had_ended;
	uint64_t ended_ns;
	struct address_space *newer; /* what records have mapped since, as far as they tell; NULL: nothing */
};

#define SAMPLED_FILES_MAX 1024 /* that wait to be taken; more are met again with their next sample */

struct attribution {
	struct attribution_options options;
	struct image_table *image_table;
	struct context_table *context_table;
	struct mapped_images *images;
	struct kernel_map *kernel;
	struct cgroup_table *cgroups;
	struct labels *labels;
	struct process_table *processes;
	struct code_makers *makers; /* NULL: they are not asked for */
	struct mapping_budget budget;
	struct vdso_identity vdso;
	struct mapped_image *vsyscall;
	struct seen_place *places; /* by number */
	size_t place_capacity;
	uint32_t files[SAMPLED_FILES_MAX]; /* numbers of images to be taken */
	size_t file_count;
	uint32_t session;              /* counts the pairs of tables, from 1 */
	struct context_cache idle;     /* of the idle task */
	struct context_cache nameless; /* of processes never seen */
	bool nested;                   /* in a pid namespace below the machine's: pid 0 is anybody outside */
	bool live;                     /* the records are this machine's, now: /proc was read */
	uint64_t grace_ns;             /* the option's, or the default */
	bool sees_cgroups;             /* all of the machine's, under the names that records have */
	uint64_t cgroups_looked_ns;    /* record time: when it was last looked which are still there */
	uint64_t scan_ns;
	struct finding finding;
	bool records_missed;  /* since the last scan began */
	uint64_t doubt_until; /* record time: before that, more may be unknown than records tell */
	struct labels_waiting waiting;
	uint64_t label_changes;
};

/* A process that is no process here: the idle task, or one of another pid namespace. */
static inline bool
is_foreign(uint32_t pid)
{
	return pid == PID_IDLE || pid == PID_FOREIGN;
}

/* What a mapping says that was there before us; those of a process come in ascending order. 0 or -ENOMEM. */
int attribution_map_found(struct attribution *attribution, uint32_t pid, const struct record_mmap *mmap,
                          uint64_t time_ns);

/* What a record means for labels, after it was applied, or passed by because a scan knew it. */
void attribution_follow_label(struct attribution *attribution, const struct record *record);

/* 0 or -ENOMEM. */
int family_add(struct family *family, uint32_t pid, const struct process_birth *birth);
void family_fini(struct family *family);

/* After /proc was read, beginning at `time_ns`: who is new, and nobody told, has the label of its parent. */
void attribution_find_kin(struct attribution *attribution, struct family *family, uint64_t time_ns);

void labels_waiting_fini(struct labels_waiting *waiting);

#endif
