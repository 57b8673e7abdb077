/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of an audit's step. */
#include "config.h"
#include "prolog/audit/record.h"

#include <stdio.h>
#include <string.h>

#include "core/judge/verdict.h"
#include "util/alloc.h"
#include "util/text.h"

/* Skip a word and the space after it. False if *line does not begin with it. */
static bool take (const char **line, const char *word)
{
    size_t len = strlen (word);

    if (strncmp (*line, word, len) || (*line)[len] != ' ')
        return false;
    *line += len + 1;
    return true;
}

bool record_is_result (const char *line, const char *nonce, bool *unknown,
                       const char **sentence)
{
    static const enum verdict_status status[]
        = { VERDICT_OK, VERDICT_WARN, VERDICT_FAIL, VERDICT_UNKNOWN };
    size_t i = 0;

    if (!take (&line, "pmm-result") || !take (&line, "1"))
        return false;
    while (i < 4 && !take (&line, verdict_status_name (status[i])))
        i++;
    if (i == 4 || !take (&line, nonce) || !*line)
        return false;
    *unknown = status[i] == VERDICT_UNKNOWN;
    *sentence = line;
    return true;
}

void record_clear (struct audit_record *r)
{
    samples_destroy (r->samples);
    plan_destroy (r->plan);
    pathset_destroy (r->ps);
    *r = (struct audit_record){ 0 };
}

struct record_lines {
    char *plan, *samples; /* NULL: there is none */
};

/* Find the lines of the record among others, such as Slurm's. Nothing after the
 * result is read.
 */
static void find_lines (struct audit_record *r, struct record_lines *lines,
                        char *text, const char *nonce)
{
    char *next = text;
    char *line;

    while ((line = next)) {
        const char *sentence;

        if ((next = strchr (line, '\n')))
            *next++ = '\0';
        if (*line == '{') {
            if (!lines->plan)
                lines->plan = line;
            else if (!lines->samples)
                lines->samples = line;
        }
        else if (record_is_result (line, nonce, &r->unknown, &sentence)) {
            snprintf (r->sentence, sizeof (r->sentence), "%s", sentence);
            text_clean (r->sentence);
            return;
        }
    }
}

static void read_plan (struct audit_record *r, char *line,
                       const struct fabric *f, struct error *err)
{
    FILE *fp = xcheck (fmemopen (line, strlen (line), "r"));

    r->plan = plan_read (fp, "the record's plan", f->hash, fabric_resolve,
                         (void *)f, &r->ps, err);
    fclose (fp);
}

static void read_samples (struct audit_record *r, char *line,
                          const struct fabric *f, struct error *err)
{
    FILE *fp = xcheck (fmemopen (line, strlen (line), "r"));

    r->samples = samples_read (fp, "the record's samples", f->hash,
                               fabric_resolve, (void *)f, &r->ps, err);
    fclose (fp);
}

static int check_endpoints (const struct audit_record *r,
                            const struct record_scope *scope, struct error *err)
{
    for (size_t i = 0; i < pathset_size (r->ps); i++) {
        const struct endpoint *e = pathset_endpoint (r->ps, i);

        if (!scope->node[scope->fabric->end[e->id].endpoint])
            return error_input (err, "the record is of %.63s, which was not "
                                     "asked for", e->name);
    }
    return 0;
}

int record_read (struct audit_record *r, char *text, size_t len,
                 const struct record_scope *scope, struct error *err)
{
    struct record_lines lines = { 0 };

    *r = (struct audit_record){ 0 };
    if (len >= RECORD_MAX || text[len] != '\0')
        return error_input (err, "the record is longer than %d bytes",
                            RECORD_MAX);
    find_lines (r, &lines, text, scope->nonce);
    if (!r->sentence[0])
        return error_input (err, "the record has no result");
    if (!lines.plan)
        return 0;
    if (!lines.samples)
        return error_input (err, "the record has no samples");
    read_plan (r, lines.plan, scope->fabric, err);
    if (!r->plan || check_endpoints (r, scope, err) < 0)
        return -1;
    read_samples (r, lines.samples, scope->fabric, err);
    if (!r->samples)
        return -1;
    if (strcmp (r->samples->nonce, scope->nonce))
        return error_input (err, "the record's samples are of another run");
    return 0;
}
