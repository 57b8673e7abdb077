/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentence of a verdict: what made it what it is. */
#include "config.h"
#include "core/judge/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { NONE = -1, LIMITS = 3 };

static const struct {
    int finding; /* its level; or NONE */
    struct {
        enum verdict_status status;
        const char *text;
    } limit[LIMITS];
    enum verdict_status status;
    bool limited;
    const char *sentence; /* begins so */
} cases[] = {
    { NONE, { { 0 } }, VERDICT_OK, false, "3 links by 2 probes" },
    { NONE, { { VERDICT_OK, "no baseline" } }, VERDICT_OK, false, "3 links" },
    { NONE, { { VERDICT_OK, "no baseline" }, { VERDICT_UNKNOWN, "h1 left" },
              { VERDICT_UNKNOWN, "h2 left" } }, VERDICT_UNKNOWN, true,
      "h1 left" },
    { VERDICT_WARN, { { VERDICT_OK, "no baseline" } }, VERDICT_WARN, false,
      "host end h1" },
    { VERDICT_WARN, { { VERDICT_OK, "no baseline" },
                      { VERDICT_UNKNOWN, "h2 left" } }, VERDICT_UNKNOWN, true,
      "h2 left" },
    { VERDICT_UNKNOWN, { { VERDICT_UNKNOWN, "h2 left" } }, VERDICT_UNKNOWN,
      false, "host end h1" },
    { VERDICT_FAIL, { { VERDICT_UNKNOWN, "h2 left" } }, VERDICT_FAIL, false,
      "host end h1" },
};

/* As the judge does, whose findings come last. */
static struct verdict *make (size_t i)
{
    struct verdict *v = verdict_create ();

    for (size_t k = 0; k < LIMITS && cases[i].limit[k].text; k++)
        verdict_limit (v, cases[i].limit[k].status, "%s",
                       cases[i].limit[k].text);
    v->links = 3;
    v->probes = 2;
    if (cases[i].finding == NONE)
        return v;
    v->finding = calloc (1, sizeof (*v->finding));
    v->nfindings = 1;
    v->finding->level = (enum verdict_status)cases[i].finding;
    v->finding->suspect = calloc (1, sizeof (*v->finding->suspect));
    v->finding->nsuspects = 1;
    if (v->finding->level > v->status)
        v->status = v->finding->level;
    return v;
}

int main (void)
{
    struct link_info link = { .id = (char *)"id", .host = (char *)"h1" };
    struct network net = { .link = &link, .nlinks = 1 };

    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct verdict *v = make (i);
        char text[256];

        verdict_sentence (v, &net, text, sizeof (text));
        ok (v->status == cases[i].status
                && verdict_is_limited (v) == cases[i].limited
                && !strncmp (text, cases[i].sentence,
                             strlen (cases[i].sentence)),
            "%s: %s", verdict_status_name (v->status), text);
        verdict_destroy (v);
    }
    return done_testing ();
}
