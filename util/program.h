/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a program under a watchdog: the srun of a check or of an audit.
 *
 * The program gets its arguments and its environment and nothing else of ours:
 * no open file, signal handler or signal mask, and its soft limits are raised
 * to the hard ones (except that of the stack, which may determine the size of
 * threads' stacks; and no core dumps). It gets its own process group. If we
 * die, it gets SIGTERM.
 */
#ifndef UTIL_PROGRAM_H
#define UTIL_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROGRAM_LINE = 1024,        /* bytes of a line, including its NUL */
    PROGRAM_OVERTIME_MS = 7000, /* to end a program after its deadline */
};

enum program_stream { PROGRAM_OUT, PROGRAM_ERR, PROGRAM_STREAMS };

enum program_end {
    PROGRAM_NONE,      /* not started: see errno */
    PROGRAM_ENDED,     /* ended by itself */
    PROGRAM_TIMED_OUT, /* at its deadline, or some time after `done` */
    PROGRAM_STOPPED,
};

struct program_line {
    char text[PROGRAM_LINE]; /* without its newline */
    size_t len;
    bool cut;                /* to PROGRAM_LINE, or by the end of the output */
};

struct program {
    void (*run) (void *arg); /* a function that ends its process, in place of a
                                program; NULL: */
    char *const *argv;   /* argv[0] is the program's path */
    char *const *env;
    const char *input;   /* its standard input; NULL: none */
    int64_t deadline_ms; /* by clock_ms */
    const sigset_t *mask; /* while waiting for it; NULL: the thread's */
    const volatile sig_atomic_t *stop; /* not 0: end it; NULL: never */

    /* Gets each line of the output, which it may change; NULL: it is dropped. */
    void (*take[PROGRAM_STREAMS]) (void *arg, struct program_line *line);
    /* Whether everything wanted has come: then the program gets some seconds to
     * end; NULL: no such limit.
     */
    bool (*done) (void *arg);
    void *arg;
};

/* Run the program to its end, which comes at most PROGRAM_OVERTIME_MS after its
 * deadline; *status is then as from waitpid. Unless it ended by itself, the
 * rest of its process group is killed.
 */
enum program_end program_run (const struct program *program, int *status);

/* Arguments or an environment, built word by word. Initially all zero. */
struct program_words {
    char **v; /* n words, and NULL */
    size_t n;
    bool failed; /* out of memory */
};
__attribute__ ((format (printf, 2, 3))) void
program_add (struct program_words *words, const char *fmt, ...);
void program_add_list (struct program_words *words, const char *const *word);
#define program_add_all(words, ...) \
    program_add_list (words, (const char *const[]){ __VA_ARGS__, NULL })

/* The complete array, which the caller frees with program_free; NULL with errno
 * ENOMEM.
 */
char **program_words_end (struct program_words *words);
void program_free (char **v);

/* Close all file descriptors from this one on; safe between fork and exec. */
void program_close_from (unsigned int first);

/* Reset all signals to default and unblock them; safe in a child after fork. */
void program_reset_signals (void);

#endif /* UTIL_PROGRAM_H */
