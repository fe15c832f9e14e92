/*
 * libsample/database.h - a profile database of dcpid, opened to be read
 *
 * Caveats first. A database is an LMDB environment: it maps its file, so that a damaged or malicious one may fault
 * (SIGSEGV, SIGBUS) the process that reads it. A process opens one database once at a time, for LMDB's locks want it
 * so, and does not use across fork() what it opened before. It needs to write the lock file that lies in the directory,
 * as members of the group that owns it may. What is read is copied out: a process that is stopped or waits for its user
 * keeps nothing of the database from being used again.
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
 * -SAMPLE_EDAMAGED; -SAMPLE_ENEWER; -SAMPLE_EFOREIGN; -SAMPLE_ESYMLINK; -SAMPLE_EREADERS: try again; -ENOMEM.
 *
 * What a running dcpid has not written yet, a minute of samples at most, is not in it: `dcpictl flush` writes that.
 */
int sample_database_open(const char *directory, struct sample_database **database);
void sample_database_close(struct sample_database *database); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
