/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process.
 *
 * Notes. Parent and child share a mapping, which is at the same place in both, so
 * that pointers into it hold in the parent, too. The answer is at its start, and
 * how the call ended behind all room for it: written last, so if that is missing,
 * the child died.
 */
#include "config.h"
#include "prolog/slurm/child.h"

#include <grp.h>
#include <jansson.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/program.h"

struct call {
    child_f fn;
    const void *arg;
    size_t size;
    char *answer;
    struct call_end {
        size_t used; /* of the room before it */
        bool ended;
        int rc;
        struct error err;
    } *end;
    char printed[PROGRAM_LINE];  /* the last line that is not blank */
};

enum { ALIGN = alignof (max_align_t) };

static struct call *called; /* in the child */

/* In the child: it ends with this, and call->end->err. */
__attribute__ ((noreturn)) static void end_call (int rc)
{
    called->end->rc = rc;
    called->end->ended = true;
    _exit (EXIT_SUCCESS);
}

void *child_alloc (size_t n, size_t size)
{
    char *room = called->answer + called->end->used;
    size_t left = (size_t)((char *)called->end - room);

    if (left < ALIGN || (size > 0 && n > (left - ALIGN) / size))
        end_call (error_world (&called->end->err,
                               "its result has more than %d bytes",
                               CHILD_OUT_MAX));
    called->end->used += (n * size + ALIGN - 1) / ALIGN * ALIGN;
    return room;
}

char *child_text (const char *s)
{
    json_t *utf8 = s && *s ? json_string (s) : NULL;
    char *text;

    if (!s || !*s)
        return NULL;
    text = strcpy (child_alloc (strlen (s) + 1, 1), s);
    for (char *c = text; !utf8 && *c; c++)
        if (*c & 0x80)
            *c = '?';
    json_decref (utf8);
    return text;
}

int child_become (const struct passwd *pw, struct error *err)
{
    return initgroups (pw->pw_name, pw->pw_gid) < 0 || setgid (pw->pw_gid) < 0
                   || setuid (pw->pw_uid) < 0
               ? error_errno (err, "cannot become %s", pw->pw_name)
               : 0;
}

static void run_child_call (void *arg)
{
    struct call *call = called = arg;
    void *answer = child_alloc (1, call->size);

    end_call (call->fn (call->arg, answer, &call->end->err));
}

static void take_line (void *arg, struct program_line *line)
{
    struct call *call = arg;

    while (line->len > 0 && line->text[line->len - 1] == ' ')
        line->text[--line->len] = '\0';
    if (line->len > 0)
        strcpy (call->printed, line->text);
}

/* Whether a child that has ended has answered; else -1 with err. */
static int check_call_end (const struct call *call, int status,
                           struct error *err)
{
    if (call->end->ended && call->end->rc < 0 && err)
        *err = call->end->err;
    if (call->end->ended)
        return call->end->rc;
    if (*call->printed)
        return error_world (err, "%s", call->printed);
    if (WIFSIGNALED (status))
        return error_world (err, "ended by signal %d", WTERMSIG (status));
    return error_world (err, "ended with status %d", WEXITSTATUS (status));
}

void *child_call (child_f fn, const void *arg, size_t size, int timeout_ms,
                  struct error *err)
{
    struct call call = { .fn = fn, .arg = arg, .size = size };
    const struct program program = {
        .run = run_child_call, .deadline_ms = clock_ms () + timeout_ms,
        .take = { take_line, take_line }, .arg = &call,
    };
    enum program_end end;
    int status, rc;

    call.answer = mmap (NULL, CHILD_OUT_MAX, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (call.answer == MAP_FAILED) {
        error_errno (err, "no memory for an answer");
        return NULL;
    }
    call.end = (struct call_end *)(call.answer + CHILD_OUT_MAX) - 1;
    call.end->err.fault = ERROR_WORLD;
    end = program_run (&program, &status);
    if (end == PROGRAM_NONE)
        rc = error_errno (err, "cannot start a process");
    else if (end == PROGRAM_ENDED)
        rc = check_call_end (&call, status, err);
    else
        rc = error_world (err, "no answer in %g s%s%s", timeout_ms / 1e3,
                          *call.printed ? ": " : "", call.printed);
    if (rc == 0)
        return call.answer;
    child_free (call.answer);
    return NULL;
}

int child_try (child_f fn, const void *arg, int timeout_ms, struct error *err)
{
    void *answer = child_call (fn, arg, 0, timeout_ms, err);

    child_free (answer);
    return answer ? 0 : -1;
}
