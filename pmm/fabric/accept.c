/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric accept: findings of pmm fabric check that are to be notes. */
#include "config.h"

#include <time.h>

#include "ibquery/lines.h"
#include "ibquery/links/accepted.h"
#include "pmm/verb.h"
#include "util/json.h"

static struct accept_words {
    const char *counters, *since, *why;
    bool off;
} given;

#define FIELD(name) offsetof (struct accept_words, name)
static const struct opt options[] = {
    { "why", 0, "TEXT", opt_string, FIELD (why),
      "the reason, for whoever asks later" },
    { "off", 0, NULL, opt_true, FIELD (off), "report the finding again" },
    { "counters", 0, "FILE", opt_string, FIELD (counters),
      "the newest reading of the counters" },
    { "since", 0, "FILE", opt_string, FIELD (since),
      "an older reading of the counters" },
    { 0 },
};

static const struct opt_rule rules[] = {
    { "since", OPT_NEEDS, "counters" },
    { "why off counters", OPT_NEEDS, "LINK|HOST" },
    { "off", OPT_EXCLUDES, "why counters" },
    { 0 },
};

static json_t *entry_json (const struct accepted_entry *e)
{
    if (*e->host)
        return json_pack ("{s:s, s:s, s:s, s:I, s:s, s:s}", "host", e->host,
                          "what", e->what, "value", e->value, "time",
                          (json_int_t)e->time, "who", e->who, "why", e->why);
    return json_pack ("{s:[s, s], s:s, s:s, s:I, s:s, s:s}", "ports",
                      e->port[0], e->port[1], "what", e->what, "value",
                      e->value, "time", (json_int_t)e->time, "who", e->who,
                      "why", e->why);
}

static void list_accepted (struct inputs *in, const struct accepted *a)
{
    json_t *rows = verb_keep_json (json_array ());
    char when[LINES_TIME];

    for (size_t i = 0; i < a->n && in->json; i++)
        json_add (rows, entry_json (&a->v[i]));
    if (in->json) {
        inputs_put_json (in, "accepted", in->fabric->hash,
                         json_pack ("{s:O}", "accepted", rows));
        return;
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct accepted_entry *e = &a->v[i];
        uint32_t port = fabric_find_port (in->fabric, e->port[0]);
        uint32_t far = fabric_find_port (in->fabric, e->port[1]);

        if (*e->host)
            fprintf (inputs_output (in), "%s %s  %s", e->what, e->value,
                     e->host);
        else
            fprintf (inputs_output (in), "%s %s  %s -- %s (%s)", e->what,
                     e->value,
                     port != FABRIC_NONE ? PORT_NAME (in->fabric, port)
                                         : "gone",
                     far != FABRIC_NONE ? PORT_NAME (in->fabric, far) : "gone",
                     e->port[0]);
        fprintf (inputs_output (in), "  %.10s  %s%s%s\n",
                 lines_format_time (e->time, when), e->who,
                 *e->why ? ": " : "", e->why);
    }
}

/* Accept what a check finds of the link, or of the host's rails. */
static void accept_found (const struct inputs *in, struct accepted *a,
                          const char *text)
{
    uint32_t host = fabric_host_named (in->fabric, text);
    uint32_t link = fabric_find_link (in->fabric, text);
    struct link_check *c;
    size_t n;

    if (link == FABRIC_NONE && host == FABRIC_NONE)
        die_input ("'%.80s' is not a link or host of this fabric", text);
    c = need (check_load (in->fabric, given.counters, given.since, &fault));
    n = host != FABRIC_NONE
            ? accepted_add_rails (a, c, in->fabric, host, time (NULL),
                                  user_name (), given.why)
            : accepted_add (a, c, in->fabric, link, time (NULL), user_name (),
                            given.why);
    if (n == 0)
        die_input ("pmm fabric check finds nothing at %.80s", text);
    if (a->n > ACCEPTED_MAX)
        die_input ("more than %d are accepted", ACCEPTED_MAX);
    check_destroy (c);
}

/* The link or host need not be in the fabric any more. */
static void remove_accepted (const struct inputs *in, struct accepted *a,
                             const char *text)
{
    uint32_t link = fabric_find_link (in->fabric, text);
    uint32_t host = fabric_host_named (in->fabric, text);

    if (accepted_remove (a, host != FABRIC_NONE ? in->fabric->host[host].name
                            : link != FABRIC_NONE ? in->fabric->link[link].id
                                                  : text) == 0)
        die_input ("nothing is accepted at %.80s", text);
}

static int run_accept (struct inputs *in)
{
    char *path = verb_keep (accepted_path (in->fabric_path));
    const char *text = in->operand[0];
    struct accepted a;

    if (!path)
        die_input ("-f takes a file, beside which the list is kept");
    need_ok (accepted_load (&a, path, &fault));
    if (!text)
        list_accepted (in, &a);
    else {
        (given.off ? remove_accepted : accept_found) (in, &a, text);
        need_ok (accepted_save (&a, path, &fault));
    }
    accepted_clear (&a);
    return EXIT_OK;
}

const struct verb verb_fabric_accept = {
    .name = "accept", .help = "accept a finding of check: it becomes a note",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "[LINK|HOST]", .max = 1,
    .options = options, .given = &given, .rules = rules, .run = run_accept,
};
