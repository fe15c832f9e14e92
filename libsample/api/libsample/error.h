/*
 * libsample/error.h - what functions of libsample return when they fail
 *
 * Functions return 0, or a negative number: a negative errno, or one of the negative SAMPLE_E... codes below, which lie
 * beyond every errno. Codes keep their numbers. New ones may be added: for a code that a caller does not know there is
 * still its sentence. The library never prints, and never ends the process.
 */
#ifndef LIBSAMPLE_ERROR_H
#define LIBSAMPLE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum sample_error {
	SAMPLE_EDAMAGED = 5001,     /* the data is damaged, or not what it claims to be */
	SAMPLE_ENEWER = 5002,       /* the database was written by a newer version */
	SAMPLE_EREADERS = 5005,     /* too many programs read the database at once */
	SAMPLE_ENODATABASE = 5006,  /* there is no database */
	SAMPLE_ENOSELECTION = 5007, /* nothing in the database matches the request */
	SAMPLE_EBUILDID = 5008,     /* the file that is there is not the build that was sampled */
	SAMPLE_ESYMLINK = 5013,     /* a symbolic link lies where the database should be */
	SAMPLE_EFOREIGN = 5014      /* what is there is no profile database */
};

/* A sentence for `error`, negative or positive; never NULL, valid until the thread's next call. */
const char *sample_error_text(int error);

/* The version of the library that is loaded: "0.2.0". */
const char *sample_version(void);

#ifdef __cplusplus
}
#endif

#endif
