/*
 * libsample/database.h - a profile database of dcpid, opened to be read
 *
 * Caveats first. A database is an LMDB environment, which maps its file: a damaged or malicious file may cause a fault
 * (SIGSEGV, SIGBUS) in the process that reads it. Because of LMDB's locks, a process may open a database only once at a
 * time, and must not use after fork() what it opened before. The process must be able to write the lock file in the
 * directory; members of the group that owns it can. What is read is copied: a process that is stopped, or waits for its
 * user, does not keep space of the database from being reused.
 * Thread rule: a database, and what was read from it, belongs to one thread at a time.
 */
#ifndef LIBSAMPLE_DATABASE_H
#define LIBSAMPLE_DATABASE_H

#ifdef __cplusplus
extern "C" {
#endif

struct sample_database;

/*
 * Open the database in `directory`; NULL: $DCPI_DB, else /var/lib/dcpi. 0; -EACCES, ...; -SAMPLE_ENODATABASE;
 * -SAMPLE_EDAMAGED; -SAMPLE_ENEWER; -SAMPLE_EFOREIGN; -SAMPLE_ESYMLINK; -SAMPLE_EREADERS (try again later); -ENOMEM.
 *
 * Samples that a running dcpid has not written yet, at most of one minute, are not in it: `dcpictl flush` writes them.
 */
int sample_database_open(const char *directory, struct sample_database **database);
void sample_database_close(struct sample_database *database); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
