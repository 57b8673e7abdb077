/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments of the jobs that were audited.
 *
 * Notes: what a comment says is read from the ledger, not from the audit that
 * just ran, so that it is the same one if we are killed between the two.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/slurm/accounting.h"
#include "report/comment.h"
#include "util/text.h"

enum { AT_ONCE = 200 };

static const char *text_of (const json_t *obj, const char *key)
{
    const char *s = json_string_value (json_object_get (obj, key));

    return s ? s : "";
}

static enum finding_kind kind_of (const json_t *obj)
{
    enum finding_kind kind = FINDING_KINDS - 1;

    while (kind > 0 && strcmp (text_of (obj, "kind"),
                               finding_kind_name (kind)) != 0)
        kind--;
    return kind;
}

/* A finding and room for what it points to. */
struct worst {
    struct finding finding;
    uint32_t link, sw;
    char *node;
};

/* The host at a host link's end. */
static char *host_of (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];
    uint32_t end[2] = { l->a, l->b };

    for (size_t i = 0; i < 2; i++) {
        uint32_t host = f->node[f->port[end[i]].node].host;

        if (host != FABRIC_NONE)
            return f->host[host].name;
    }
    return NULL;
}

static uint32_t find_switch (const struct fabric *f, const char *id)
{
    const struct network *net = fabric_network (f);

    for (uint32_t i = 0; i < net->nswitches; i++)
        if (net->sw[i].id && !strcmp (net->sw[i].id, id))
            return i;
    return FABRIC_NONE;
}

/* The next suspect. Only the first one's name is told, but a node only where it
 * is that of all. False where it is not in the fabric any more.
 */
static bool add_link (struct worst *w, uint32_t link, const struct fabric *f)
{
    struct finding *x = &w->finding;
    char *node = link == FABRIC_NONE ? NULL : host_of (f, link);

    if (x->nsuspects++ == 0) {
        w->link = link;
        w->node = node;
        x->nnodes = node != NULL;
    }
    else if (node && (!w->node || strcmp (node, w->node) != 0))
        x->nnodes++;
    return link != FABRIC_NONE;
}

static bool add_switch (struct worst *w, uint32_t sw)
{
    if (w->finding.nsw++ == 0)
        w->sw = sw;
    return sw != FABRIC_NONE;
}

/* Fill in as much of a finding as a comment tells. False where its suspects are
 * not in the fabric any more.
 */
static bool find_worst (struct worst *w, const json_t *finding,
                        const struct fabric *f)
{
    const json_t *excess = json_object_get (finding, "excess_ns");
    struct finding *x = &w->finding;
    bool known = true;
    size_t i;
    json_t *v;

    *x = (struct finding){
        .level = service_status (finding, "level"),
        .kind = kind_of (finding),
        .excess_ns = json_is_number (excess) ? json_number_value (excess)
                                             : NAN,
        .suspect = &w->link,
        .sw = &w->sw,
        .node = &w->node,
    };
    json_array_foreach (json_object_get (finding, "suspects"), i, v) {
        const char *id = text_of (v, "id");

        if (!strcmp (text_of (v, "role"), "link"))
            known &= add_link (w, fabric_find_link (f, id), f);
        else if (!strcmp (text_of (v, "role"), "switch"))
            known &= add_switch (w, find_switch (f, id));
    }
    return known && x->nsuspects > 0;
}

static int format (const struct service *s, int64_t audit,
                   char entry[COMMENT_ENTRY_MAX + 1], struct error *err)
{
    json_t *result = ledger_result (s->ledger, audit, err);
    json_t *extent = result ? ledger_extent (s->ledger, audit, err) : NULL;
    struct worst worst = { 0 };
    struct verdict v = {
        .status = service_status (result, "status"),
        .links = (size_t)json_integer_value (
            json_object_get (extent, "links")),
        .rounds = (size_t)json_integer_value (
            json_object_get (extent, "rounds")),
        .finding = &worst.finding,
    };
    const json_t *finding
        = json_array_get (json_object_get (result, "findings"), 0);
    struct comment c;

    v.nfindings = finding && find_worst (&worst, finding, s->fabric)
                  && worst.finding.level >= v.status;
    comment_of_audit (&c, audit, &v, s->fabric);
    comment_format (&c, entry);
    json_decref (extent);
    json_decref (result);
    return result && extent ? 0 : -1;
}

int service_comment (struct service *s, uint64_t job, int64_t audit,
                     struct error *err)
{
    char entry[COMMENT_ENTRY_MAX + 1];

    if (!strcmp (s->site.action, "report"))
        return 0;
    if (format (s, audit, entry, err) < 0
        || ledger_comment_add (s->ledger, (int64_t)time (NULL), job, 0, entry,
                               err) < 0)
        return -1;
    return 0;
}

int duty_comments (struct service *s, struct error *err)
{
    int written;
    int tried = accounting_flush (&s->site, s->ledger, (int64_t)time (NULL),
                                  AT_ONCE, &written, err);

    s->untried = tried == 0;
    if (written > 0)
        service_log (s, "%s written",
                     COUNTED ((uint64_t)written, "comment"));
    return tried < 0 ? -1 : 0;
}
