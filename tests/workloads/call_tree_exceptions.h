/* call_tree_exceptions.h - the ways of call_tree that need C++ */
#ifndef DCPI_TESTS_CALL_TREE_EXCEPTIONS_H
#define DCPI_TESTS_CALL_TREE_EXCEPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Work in the block that catches an exception, below a frame that is gone. */
void in_handler_of_exception(double seconds);

/* Work in a destructor while an exception passes the frame of its object. */
void in_cleanup(double seconds);

/* Throw and catch until the time is over: the work is the unwinder's. */
void in_throw(double seconds);

#ifdef __cplusplus
}
#endif

#endif
