/*
 * error.h - the one table of errors
 *
 * Functions return 0 or a negative number: a negative errno, or one of the negative DCPI_E... codes below, whose
 * values lie beyond every errno. The table gives each code a sentence, and the exit status of a tool that ends with
 * this error.
 * Thread rule: everything here is stateless.
 */
#ifndef DCPI_BASE_ERROR_H
#define DCPI_BASE_ERROR_H

#define DCPI_NOT_OURS                                                                                                  \
	"the directory, or a file of a database in it, is another user's, or others may write there: chown and chmod " \
	"it, run the command as its owner, or name another directory"

#define DCPI_VERSION_GONE                                                                                              \
	"the version of the database that was being read has gone (it is kept for five minutes, and no longer than "   \
	"there is room)"

/* name, value, exit status, what a user reads */
#define DCPI_ERRORS(X)                                                                                                 \
	X(DCPI_EDAMAGED, 5001, 3, "the data is damaged or not what it claims to be")                                   \
	X(DCPI_ENEWER, 5002, 3, "the database was written by a newer dcpi; install that version or a later one")       \
	X(DCPI_ERUNNING, 5003, 1, "another dcpid uses this database")                                                  \
	X(DCPI_EFULL, 5004, 1, "the database has reached its size limit; size_limit_mib in dcpid.conf raises it")      \
	X(DCPI_EREADERS, 5005, 1, "too many programs read the database at once")                                       \
	X(DCPI_ENODATABASE, 5006, 1, "there is no profile database here")                                              \
	X(DCPI_ENOSELECTION, 5007, 4, "nothing in the database matches the selection")                                 \
	X(DCPI_EBUILDID, 5008, 1, "the file is not the build that was sampled (its build-id differs)")                 \
	X(DCPI_ENOSYMBOLS, 5009, 1, "no symbols were found")                                                           \
	X(DCPI_ECONFIG, 5010, 2, "the configuration is not valid")                                                     \
	X(DCPI_ENOEVENT, 5011, 2, "no such event")                                                                     \
	X(DCPI_ENETWORKFS, 5012, 1, "a database cannot be written on a network file system; use a local disk")         \
	X(DCPI_ESYMLINK, 5013, 1, "there is a symbolic link where the database should be; name what it points to")     \
	X(DCPI_EFOREIGN, 5014, 3, "what lies there is not a profile database; name another directory")                 \
	X(DCPI_EGONE, 5015, 1, "the directory was removed, and dcpid may not make it again")                           \
	X(DCPI_EVERSION, 5016, 1, DCPI_VERSION_GONE "; run the command again")                                         \
	X(DCPI_EOWNER, 5017, 1, DCPI_NOT_OURS)

enum dcpi_error {
#define DCPI_ERROR_VALUE(name, value, status, text) name = value,
	DCPI_ERRORS(DCPI_ERROR_VALUE)
#undef DCPI_ERROR_VALUE
};

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILURE = 1, /* the system refused something */
	STATUS_USAGE = 2,   /* an option or the configuration is wrong */
	STATUS_DAMAGED = 3, /* the database cannot be read */
	STATUS_EMPTY = 4,   /* it can be read, but holds nothing of what was asked for */
};

/* The sentence for `error` (negative or positive), never NULL; valid until the thread's next call. */
const char *error_text(int error);

/* The exit status of a tool that ends with `error`: one of enum exit_status. */
int error_exit_status(int error);

#endif
