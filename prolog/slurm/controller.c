/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmctld.
 *
 * Notes: what a child has found comes back as strings, each with its NUL: for
 * a node its state in hex, its name, its Reason and who gave it.
 */
#include "config.h"
#include "prolog/slurm/controller.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/slurm/child.h"
#include "util/slurmapi.h"

/*
 * In the child
 */

static int slurm_error (struct error *err)
{
    return error_world (err, "%s", slurm_strerror (errno));
}

/* NSS may hang as well as slurmctld: this, too, is the child's to do. */
static void user_name (char name[CONTROLLER_NAME], uid_t uid)
{
    const struct passwd *pw = getpwuid (uid);

    if (pw && strlen (pw->pw_name) < CONTROLLER_NAME)
        strcpy (name, pw->pw_name);
    else
        snprintf (name, CONTROLLER_NAME, "%ju", (uintmax_t)uid);
}

static void put (FILE *out, const char *s)
{
    fputs (s ? s : "", out);
    putc ('\0', out);
}

static int tell_nodes (FILE *out, const void *arg, struct error *err)
{
    node_info_msg_t *msg;
    char by[CONTROLLER_NAME] = "";
    uid_t last = (uid_t)-1;

    (void)arg;
    if (slurm_load_node (0, &msg, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const node_info_t *n = &msg->node_array[i];
        bool reason = n->reason && n->reason[0];

        if (!n->name) /* of the FUTURE */
            continue;
        if (reason && n->reason_uid != last)
            user_name (by, last = n->reason_uid);
        fprintf (out, "0x%" PRIx32, n->node_state);
        put (out, "");
        put (out, n->name);
        put (out, reason ? n->reason : "");
        put (out, reason ? by : "");
    }
    return 0;
}

/* A node to be changed, and whether it is as it must be. */
struct change {
    char *node, *reason;
    uint32_t to;
    bool (*due) (const struct change *c, const node_info_t *n);
};

static bool drain_due (const struct change *c, const node_info_t *n)
{
    (void)c;
    return !(n->node_state & NODE_STATE_DRAIN);
}

static bool resume_due (const struct change *c, const node_info_t *n)
{
    struct policy_node now = { 0 };

    controller_state (&now, n->node_state);
    return now.drained && !now.down && !now.powered_down && n->reason
           && strcmp (n->reason, c->reason) == 0
           && n->reason_uid == geteuid ();
}

/* Says "1" or "0". */
static int change_node (FILE *out, const void *arg, struct error *err)
{
    const struct change *c = arg;
    node_info_msg_t *msg;
    update_node_msg_t update;
    bool due;

    if (slurm_load_node_single (&msg, c->node, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    if (msg->record_count != 1 || !msg->node_array[0].name)
        return error_world (err, "there is no node %s", c->node);
    due = c->due (c, &msg->node_array[0]);
    slurm_init_update_node_msg (&update);
    update.node_names = c->node;
    update.node_state = c->to;
    if (c->to == NODE_STATE_DRAIN) {
        update.reason = c->reason;
        slurmapi_reason_by (&update, geteuid ());
    }
    if (due && slurm_update_node (&update) != SLURM_SUCCESS)
        return slurm_error (err);
    putc (due ? '1' : '0', out);
    return 0;
}

static const partition_info_t *find_partition (const partition_info_msg_t *msg,
                                               const char *name)
{
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (strcmp (msg->partition_array[i].name, name) == 0)
            return &msg->partition_array[i];
    return NULL;
}

/* Idle, and of no other flag that matters but these. */
static bool is_idle (const node_info_t *n, uint32_t flags)
{
    const uint32_t rest = NODE_STATE_CLOUD | NODE_STATE_DYNAMIC_NORM;

    return n->name && (n->node_state & ~rest) == (NODE_STATE_IDLE | flags);
}

/* Says names, with a comma behind each. */
static int tell_idle (FILE *out, const void *arg, struct error *err)
{
    const char *name = arg;
    partition_info_msg_t *parts;
    const partition_info_t *part;
    node_info_msg_t *nodes;
    void *members;

    if (slurm_load_partitions (0, &parts, SHOW_ALL) != SLURM_SUCCESS
        || slurm_load_node (0, &nodes, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    if (!(part = find_partition (parts, name)))
        return error_world (err, "there is no partition %s", name);
    if (!(members = slurm_hostlist_create (part->nodes)))
        return error_nomem (err);
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const node_info_t *n = &nodes->node_array[i];

        if (is_idle (n, 0) && slurm_hostlist_find (members, n->name) >= 0)
            fprintf (out, "%s,", n->name);
    }
    return 0;
}

static int tell_drained (FILE *out, const void *arg, struct error *err)
{
    static const char ours[] = CONTROLLER_OURS;
    node_info_msg_t *nodes;

    (void)arg;
    if (slurm_load_node (0, &nodes, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const node_info_t *n = &nodes->node_array[i];

        if (is_idle (n, NODE_STATE_DRAIN) && n->reason
            && strncmp (n->reason, ours, sizeof (ours) - 1) == 0
            && n->reason_uid == geteuid ())
            fprintf (out, "%s,", n->name);
    }
    return 0;
}

static bool share_nodes (const partition_info_t *a, const partition_info_t *b)
{
    void *mine = slurm_hostlist_create (a->nodes);
    void *theirs = slurm_hostlist_create (b->nodes);
    bool shared = false;
    char *name;

    while (mine && theirs && !shared
           && (name = slurm_hostlist_shift (theirs))) {
        shared = slurm_hostlist_find (mine, name) >= 0;
        free (name);
    }
    return shared || !mine || !theirs;
}

static bool may_be_preempted (const partition_info_t *part,
                              const slurm_conf_t *conf)
{
    uint16_t mode = part->preempt_mode == NO_VAL16 ? conf->preempt_mode
                                                   : part->preempt_mode;

    return (mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF;
}

/* Says the name of a partition whose jobs would be preempted, or nothing. */
static int tell_evicted (FILE *out, const void *arg, struct error *err)
{
    const char *name = arg;
    slurm_conf_t *conf;
    partition_info_msg_t *parts;
    const partition_info_t *part;

    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS
        || slurm_load_partitions (0, &parts, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    if (!(part = find_partition (parts, name)))
        return error_world (err, "there is no partition %s", name);
    if (!conf->preempt_type
        || strcmp (conf->preempt_type, "preempt/partition_prio"))
        return 0;
    for (uint32_t i = 0; i < parts->record_count; i++) {
        const partition_info_t *other = &parts->partition_array[i];

        if (other->priority_tier < part->priority_tier
            && may_be_preempted (other, conf) && share_nodes (part, other)) {
            fputs (other->name, out);
            return 0;
        }
    }
    return 0;
}

/* Says how many. */
static int cancel_jobs (FILE *out, const void *arg, struct error *err)
{
    job_info_msg_t *jobs;
    unsigned int n = 0;

    if (slurm_load_job_user (&jobs, geteuid (), SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *job = &jobs->job_array[i];

        if ((job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED || !job->name
            || strcmp (job->name, arg))
            continue;
        if (slurm_kill_job (slurmapi_job (job->slurmapi_job_id), SIGKILL, 0)
                != SLURM_SUCCESS
            && errno != ESLURM_ALREADY_DONE)
            return slurm_error (err);
        n++;
    }
    fprintf (out, "%u", n);
    return 0;
}

/* Says uid and name. */
static int tell_user (FILE *out, const void *arg, struct error *err)
{
    slurm_conf_t *conf;
    char name[CONTROLLER_NAME];

    (void)arg;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return slurm_error (err);
    user_name (name, conf->slurm_user_id);
    fprintf (out, "%" PRIu32, conf->slurm_user_id);
    put (out, "");
    put (out, name);
    return 0;
}

/* Says "NAME = VALUE" lines, and others. */
static int tell_conf (FILE *out, const void *arg, struct error *err)
{
    slurm_conf_t *conf;

    (void)arg;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return slurm_error (err);
    slurm_print_ctl_conf (out, conf);
    return 0;
}

/* Says whether it is up and open, its limit, the nodes outside; or nothing. */
static int tell_partition (FILE *out, const void *arg, struct error *err)
{
    partition_info_msg_t *parts;
    const partition_info_t *part;
    node_info_msg_t *nodes;
    void *members;

    if (slurm_load_partitions (0, &parts, SHOW_ALL) != SLURM_SUCCESS
        || slurm_load_node (0, &nodes, SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    if (!(part = find_partition (parts, arg)))
        return 0;
    if (!(members = slurm_hostlist_create (part->nodes)))
        return error_nomem (err);
    put (out, part->state_up == PARTITION_UP ? "1" : "0");
    put (out, part->flags & PART_FLAG_ROOT_ONLY ? "0" : "1");
    fprintf (out, "%" PRIu32, part->max_time);
    put (out, "");
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const char *name = nodes->node_array[i].name;

        if (name && slurm_hostlist_find (members, name) < 0)
            fprintf (out, "%s,", name);
    }
    put (out, "");
    return 0;
}

/* Says how many. */
static int tell_associations (FILE *out, const void *arg, struct error *err)
{
    slurmdb_assoc_cond_t cond = { 0 };
    slurm_conf_t *conf;
    uint16_t flags = 0;
    void *db;
    void *found;

    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return slurm_error (err);
    cond.user_list = slurm_list_create (NULL);
    cond.cluster_list = slurm_list_create (NULL);
    slurm_list_append (cond.user_list, (void *)arg);
    slurm_list_append (cond.cluster_list, conf->cluster_name);
    if (!(db = slurmdb_connection_get (&flags))
        || !(found = slurmdb_associations_get (db, &cond)))
        return slurm_error (err);
    fprintf (out, "%d", slurm_list_count (found));
    return 0;
}

struct call {
    child_f fn;
    const void *arg;
};

static int prepare_and_call (FILE *out, const void *arg, struct error *err)
{
    const struct call *call = arg;

    return slurmapi_start (err) < 0 ? -1 : call->fn (out, call->arg, err);
}

/*
 * In the caller
 */

static int ask (child_f fn, const void *arg, char **text, size_t *len,
                struct error *err)
{
    const struct call call = { fn, arg };

    if (child_call (prepare_and_call, &call, CONTROLLER_WAIT_MS, text, len,
                    err)
        < 0)
        return error_prefix (err, "slurmctld");
    return 0;
}

static int garbled (struct error *err)
{
    return error_world (err, "slurmctld: its answer makes no sense");
}

/* The next string of a text that ends in a NUL; NULL at its end. */
static const char *next (const char **p, const char *end)
{
    const char *s = *p;

    if (s >= end)
        return NULL;
    *p += strlen (s) + 1;
    return s;
}

static const char *or_null (const char *s)
{
    return *s ? s : NULL;
}

void controller_state (struct policy_node *node, uint32_t state)
{
    static const uint32_t power
        = NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN
          | NODE_STATE_POWERING_UP | NODE_STATE_POWER_DOWN
          | NODE_STATE_POWER_UP | NODE_STATE_POWER_DRAIN;
    static const uint32_t down = NODE_STATE_FAIL | NODE_STATE_INVALID_REG
                                 | NODE_STATE_REBOOT_ISSUED;
    uint32_t base = state & NODE_STATE_BASE;

    node->unknown = base == NODE_STATE_UNKNOWN || base >= NODE_STATE_FUTURE;
    node->powered_down = state & power;
    node->reserved = state & (NODE_STATE_RES | NODE_STATE_MAINT);
    node->drained = state & NODE_STATE_DRAIN;
    node->down = base == NODE_STATE_DOWN || base == NODE_STATE_ERROR
                 || state & down
                 || (state & NODE_STATE_NO_RESPOND && !node->powered_down);
}

static int add_node (struct controller_nodes *s, const char **p,
                     const char *end, struct error *err)
{
    struct policy_node *node = &s->v[s->n];
    const char *state = next (p, end);
    const char *name = next (p, end);
    const char *reason = next (p, end);
    const char *by = next (p, end);
    uint64_t flags;

    if (!by || text_u64 (state, 0, UINT32_MAX, &flags) < 0)
        return garbled (err);
    *node = (struct policy_node){ .name = name,
                                  .reason = or_null (reason),
                                  .by = or_null (by) };
    controller_state (node, (uint32_t)flags);
    s->n++;
    return 0;
}

static size_t count_strings (const char *p, const char *end)
{
    size_t n = 0;

    while (next (&p, end))
        n++;
    return n;
}

int controller_nodes (struct controller_nodes *nodes, struct error *err)
{
    enum { STRINGS = 4 };
    struct controller_nodes s = { 0 };
    const char *p, *end;
    size_t len, n;

    if (ask (tell_nodes, NULL, &s.text, &len, err) < 0)
        return -1;
    p = s.text;
    end = p + len;
    n = count_strings (p, end) / STRINGS;
    if (n > CONTROLLER_NODES_MAX) {
        error_world (err, "slurmctld: more than %d nodes",
                     CONTROLLER_NODES_MAX);
        goto error;
    }
    if (!(s.v = calloc (n + 1, sizeof (*s.v)))) {
        error_nomem (err);
        goto error;
    }
    while (s.n < n)
        if (add_node (&s, &p, end, err) < 0)
            goto error;
    *nodes = s;
    return 0;
error:
    controller_nodes_clear (&s);
    return -1;
}

void controller_nodes_clear (struct controller_nodes *nodes)
{
    free (nodes->v);
    free (nodes->text);
    *nodes = (struct controller_nodes){ 0 };
}

static int change (const char *node, const char *reason, uint32_t to,
                   bool (*due) (const struct change *, const node_info_t *),
                   struct error *err)
{
    struct change c = { .to = to, .due = due };
    char *text = NULL;
    size_t len;
    int rc = -1;

    if (!text_is_hostname (node) || !reason[0])
        return error_input (err, "%s and its Reason: not to be given to Slurm",
                            node);
    c.node = strdup (node);
    c.reason = strdup (reason);
    if (!c.node || !c.reason)
        error_nomem (err);
    else if (ask (change_node, &c, &text, &len, err) == 0)
        rc = text[0] == '1';
    free (c.node);
    free (c.reason);
    free (text);
    return rc;
}

int controller_drain (const char *node, const char *reason, struct error *err)
{
    return change (node, reason, NODE_STATE_DRAIN, drain_due, err);
}

int controller_resume (const char *node, const char *reason,
                       struct error *err)
{
    return change (node, reason, NODE_RESUME, resume_due, err);
}

static int ask_names (struct hostlist *hl, child_f fn, const void *arg,
                      struct error *err)
{
    char *text;
    size_t len;
    int rc = 0;

    if (ask (fn, arg, &text, &len, err) < 0)
        return -1;
    *hl = (struct hostlist){ 0 };
    if (len > 0) /* an empty list is an error to the parser */
        rc = hostlist_parse (hl, text, CONTROLLER_NODES_MAX, err);
    hl->count = text_unique ((const char **)hl->name, hl->count);
    free (text);
    return rc;
}

int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err)
{
    return ask_names (hl, tell_idle, partition, err);
}

int controller_drained (struct hostlist *hl, struct error *err)
{
    return ask_names (hl, tell_drained, NULL, err);
}

int controller_evicts (const char *partition, struct error *err)
{
    char *other;
    size_t len;
    int rc;

    if (ask (tell_evicted, partition, &other, &len, err) < 0)
        return -1;
    rc = len > 0;
    if (rc)
        error_input (err, "jobs in partition %.60s would preempt those in "
                          "%.60s: give it no higher PriorityTier", partition,
                     other);
    free (other);
    return rc;
}

int controller_cancel (const char *job_name, struct error *err)
{
    char *text;
    size_t len;
    uint64_t n;
    int rc;

    if (ask (cancel_jobs, job_name, &text, &len, err) < 0)
        return -1;
    rc = text_u64 (text, 0, INT_MAX, &n) < 0 ? garbled (err) : (int)n;
    free (text);
    return rc;
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME],
                     struct error *err)
{
    const char *p, *number, *known;
    char *text;
    size_t len;
    uint64_t id;
    int rc = -1;

    if (ask (tell_user, NULL, &text, &len, err) < 0)
        return -1;
    p = text;
    number = next (&p, text + len);
    known = next (&p, text + len);
    if (!known || text_u64 (number, 0, UINT32_MAX, &id) < 0)
        garbled (err);
    else {
        *uid = (uid_t)id;
        snprintf (name, CONTROLLER_NAME, "%s", known);
        rc = 0;
    }
    free (text);
    return rc;
}

/* Make of a line "NAME   = VALUE" its name and its value. */
static void split_line (FILE *out, char *line)
{
    char *equals = strstr (line, " = ");
    char *value = equals ? equals + 3 : NULL;

    if (!equals)
        return;
    while (equals > line && equals[-1] == ' ')
        equals--;
    *equals = '\0';
    put (out, line);
    put (out, strcmp (value, "(null)") == 0 ? "" : value);
}

int controller_conf (struct controller_conf *conf, struct error *err)
{
    char *said, *line, *rest;
    size_t len;
    FILE *out;

    if (ask (tell_conf, NULL, &said, &len, err) < 0)
        return -1;
    if (!(out = open_memstream (&conf->text, &conf->len))) {
        free (said);
        return error_nomem (err);
    }
    for (rest = said; (line = strsep (&rest, "\n"));)
        split_line (out, line);
    free (said);
    if (fclose (out) == 0)
        return 0;
    free (conf->text);
    return error_nomem (err);
}

void controller_conf_clear (struct controller_conf *conf)
{
    free (conf->text);
    *conf = (struct controller_conf){ 0 };
}

const char *controller_conf_get (const struct controller_conf *conf,
                                 const char *name)
{
    const char *p = conf->text;
    const char *end = p + conf->len;
    const char *key;

    while ((key = next (&p, end))) {
        const char *value = next (&p, end);

        if (value && strcmp (key, name) == 0)
            return value;
    }
    return "";
}

int controller_partition (struct controller_partition *part, const char *name,
                          struct error *err)
{
    const char *p, *up, *open, *minutes, *outside;
    char *text;
    size_t len;
    uint64_t n;
    int rc = 1;

    if (ask (tell_partition, name, &text, &len, err) < 0)
        return -1;
    p = text;
    up = next (&p, text + len);
    open = next (&p, text + len);
    minutes = next (&p, text + len);
    outside = next (&p, text + len);
    if (len == 0)
        rc = 0;
    else if (!outside || text_u64 (minutes, 0, UINT32_MAX, &n) < 0)
        rc = garbled (err);
    else {
        *part = (struct controller_partition){ .up = up[0] == '1',
                                               .open = open[0] == '1',
                                               .minutes = (uint32_t)n };
        if (*outside
            && hostlist_parse (&part->outside, outside, CONTROLLER_NODES_MAX,
                               err) < 0)
            rc = -1;
    }
    free (text);
    return rc;
}

void controller_partition_clear (struct controller_partition *part)
{
    hostlist_clear (&part->outside);
}

int controller_associated (const char *user, struct error *err)
{
    char *text;
    size_t len;
    int rc;

    if (ask (tell_associations, user, &text, &len, err) < 0)
        return -1;
    rc = text[0] != '0';
    free (text);
    return rc;
}
