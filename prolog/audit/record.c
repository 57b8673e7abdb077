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

int record_read (struct audit_record *r, char *text, size_t len,
                 const char *nonce, const struct fabric *f,
                 const char *const *node_of, struct error *err)
{
    char *plan = NULL, *samples = NULL, *line;
    FILE *fp;

    *r = (struct audit_record){ 0 };
    if (len >= RECORD_MAX || text[len] != '\0')
        return error_input (err, "the record is longer than %d bytes",
                            RECORD_MAX);
    /* among other lines, such as Slurm's; nothing after the result is read */
    while (!r->sentence[0] && (line = strsep (&text, "\n"))) {
        const char *sentence;

        if (*line == '{' && !plan)
            plan = line;
        else if (*line == '{' && !samples)
            samples = line;
        else if (record_is_result (line, nonce, &r->unknown, &sentence)) {
            snprintf (r->sentence, sizeof (r->sentence), "%s", sentence);
            text_clean (r->sentence);
        }
    }
    if (!r->sentence[0])
        return error_input (err, "the record has no result");
    if (!plan)
        return 0;
    if (!samples)
        return error_input (err, "the record has no samples");
    fp = xcheck (fmemopen (plan, strlen (plan), "r"));
    r->plan = plan_read (fp, "the record's plan", f->hash, fabric_resolve,
                         (void *)f, &r->ps, err);
    fclose (fp);
    for (size_t i = 0; r->plan && i < pathset_size (r->ps); i++) {
        const struct endpoint *e = pathset_endpoint (r->ps, i);

        if (!node_of[f->end[e->id].endpoint])
            return error_input (err, "the record is of %.63s, which was not "
                                     "asked for", e->name);
    }
    if (!r->plan)
        return -1;
    fp = xcheck (fmemopen (samples, strlen (samples), "r"));
    r->samples = samples_read (fp, "the record's samples", f->hash,
                               fabric_resolve, (void *)f, &r->ps, err);
    fclose (fp);
    if (r->samples && strcmp (r->samples->nonce, nonce))
        return error_input (err, "the record's samples are of another run");
    return r->samples ? 0 : -1;
}
