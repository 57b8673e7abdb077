/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that is run under a watchdog: the srun of a check or of an audit.
 *
 * It gets its arguments and its environment and nothing else of ours: no open
 * file, no handler, no signal mask, no soft limit below its hard one (but that
 * of the stack, which may be what it is for threads; and no core); a process
 * group of its own. Should we die, SIGTERM ends it.
 */
#ifndef UTIL_PROGRAM_H
#define UTIL_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROGRAM_LINE = 1024,        /* bytes of a line, its NUL included */
    PROGRAM_OVERTIME_MS = 7000, /* to end what exceeds its deadline */
};

enum program_stream { PROGRAM_OUT, PROGRAM_ERR, PROGRAM_STREAMS };

enum program_end {
    PROGRAM_NONE,      /* it was not started: errno */
    PROGRAM_ENDED,     /* by itself */
    PROGRAM_TIMED_OUT, /* at its deadline, or some time after it was done */
    PROGRAM_STOPPED,
};

struct program {
    char *const *argv;   /* argv[0] is the program's path */
    char *const *env;
    int64_t deadline_ms; /* as program_now_ms has it */
    const sigset_t *mask; /* while it is waited for; NULL: the thread's */
    const volatile sig_atomic_t *stop; /* not 0: end it; NULL: nobody does */

    /* What it writes, as it comes, at most a pipe's worth at a time; NULL: to
     * nobody.
     */
    void (*take) (void *arg, enum program_stream from, const char *data,
                  size_t len);
    /* Whether all that is wanted has come: it is left some seconds to end;
     * NULL: it ends when it likes.
     */
    bool (*done) (void *arg);
    void *arg;
};

/* Run it to its end, which comes PROGRAM_OVERTIME_MS after its deadline at the
 * latest; *status is as of waitpid then. What is left of its process group is
 * killed unless it ended by itself.
 */
enum program_end program_run (const struct program *program, int *status);

/* Arguments or an environment, put together word by word. At first all zero. */
struct program_words {
    char **v; /* n of them, and NULL */
    size_t n;
    bool failed; /* memory was short */
};
__attribute__ ((format (printf, 2, 3))) void
program_add (struct program_words *words, const char *fmt, ...);
void program_add_all (struct program_words *words, const char *const *word,
                      size_t n);

/* The whole of it, to be freed by program_free; NULL with errno ENOMEM. */
char **program_words_end (struct program_words *words);
void program_free (char **v);

/* Close all file descriptors from this one on; also between fork and exec. */
void program_close_from (unsigned int first);

/* Handle, ignore and block no signal any more; for a child, too. */
void program_reset_signals (void);

/* Milliseconds of a clock that nobody sets. */
int64_t program_now_ms (void);

/* Lines out of what comes in pieces: each is handed on without its newline,
 * cut to PROGRAM_LINE.
 */
struct program_line {
    char text[PROGRAM_LINE];
    size_t len;
    bool cut;
};
void program_lines (struct program_line *line, const char *data, size_t len,
                    void (*take) (void *arg, struct program_line *line),
                    void *arg);

#endif /* UTIL_PROGRAM_H */
