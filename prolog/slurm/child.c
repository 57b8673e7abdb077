/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process.
 *
 * Notes. Parent and child share memory for the answer: a list of fn's fault and
 * its sentence, or of 0 and its answer. Its length is written last: if it is
 * missing, the child died.
 */
#include "config.h"
#include "prolog/slurm/child.h"

#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/json.h"
#include "util/program.h"
#include "util/text.h"

struct call {
    child_f fn;
    const void *arg;
    struct shared {
        size_t len; /* 0: no answer yet */
        char text[];
    } *answer;
    struct program_line line;    /* the one that is being printed, */
    char printed[PROGRAM_LINE];  /* ... and the last one, if not blank */
};

enum { TEXT_BYTES = CHILD_OUT_MAX - sizeof (struct shared) };

json_t *child_text (const char *s)
{
    json_t *text = s && *s ? json_string (s) : json_null ();
    char *ascii;

    if (text)
        return text;
    ascii = xstrdup (s);
    for (char *c = ascii; *c; c++)
        if (*c & 0x80)
            *c = '?';
    return xcheck (json_string (ascii));
}

int child_become (const struct passwd *pw, struct error *err)
{
    return initgroups (pw->pw_name, pw->pw_gid) < 0 || setgid (pw->pw_gid) < 0
                   || setuid (pw->pw_uid) < 0
               ? error_errno (err, "cannot become %s", pw->pw_name)
               : 0;
}

/* In the child. */
static void run_child_call (void *arg)
{
    struct call *call = arg;
    struct error err = { .fault = ERROR_WORLD };
    json_t *v = call->fn (call->arg, &err);

    v = xcheck (v ? json_pack ("[i, o]", 0, v)
                  : json_pack ("[i, o]", (int)err.fault,
                               child_text (err.text)));
    call->answer->len = json_dumpb (v, call->answer->text, TEXT_BYTES,
                                    JSON_COMPACT);
    _exit (EXIT_SUCCESS);
}

static void take_line (void *arg, struct program_line *line)
{
    struct call *call = arg;

    while (line->len > 0 && line->text[line->len - 1] == ' ')
        line->text[--line->len] = '\0';
    if (line->len > 0)
        strcpy (call->printed, line->text);
}

static void read_child_output (void *arg, enum program_stream from,
                               const char *data, size_t len)
{
    struct call *call = arg;

    (void)from;
    program_lines (&call->line, data, len, take_line, call);
}

/* The answer of a child that has ended. */
static json_t *answer_of (const struct call *call, int status,
                          struct error *err)
{
    const struct shared *answer = call->answer;
    json_t *list, *v;
    int fault;

    if (answer->len > TEXT_BYTES)
        error_world (err, "its result has more than %d bytes", CHILD_OUT_MAX);
    else if (answer->len > 0) {
        list = xcheck (json_loadb (answer->text, answer->len, 0, NULL));
        fault = (int)json_integer_value (json_array_get (list, 0));
        v = json_incref (json_array_get (list, 1));
        json_decref (list);
        if (fault == 0)
            return v;
        (fault == ERROR_INPUT ? error_input : error_world) (
            err, "%s", json_string_value (v));
        json_decref (v);
    }
    else if (*call->printed)
        error_world (err, "%s", call->printed);
    else if (WIFSIGNALED (status))
        error_world (err, "ended by signal %d", WTERMSIG (status));
    else
        error_world (err, "ended with status %d", WEXITSTATUS (status));
    return NULL;
}

json_t *child_call (child_f fn, const void *arg, int timeout_ms,
                    struct error *err)
{
    struct call call = { .fn = fn, .arg = arg };
    const struct program program = {
        .run = run_child_call,
        .deadline_ms = clock_ms () + timeout_ms,
        .take = read_child_output,
        .arg = &call,
    };
    json_t *v = NULL;
    int status;

    call.answer = mmap (NULL, CHILD_OUT_MAX, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (call.answer == MAP_FAILED) {
        error_errno (err, "no memory for an answer");
        return NULL;
    }
    switch (program_run (&program, &status)) {
    case PROGRAM_NONE:
        error_errno (err, "cannot start a process");
        break;
    case PROGRAM_ENDED:
        read_child_output (&call, PROGRAM_ERR, "\n", 1);
        v = answer_of (&call, status, err);
        break;
    default:
        read_child_output (&call, PROGRAM_ERR, "\n", 1);
        error_world (err, "no answer in %g s%s%s", timeout_ms / 1e3,
                     *call.printed ? ": " : "", call.printed);
    }
    munmap (call.answer, CHILD_OUT_MAX);
    return v;
}
