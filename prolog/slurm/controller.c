/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmctld. The child frees no memory, because it exits after the
 * call.
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

#include "util/alloc.h"
#include "util/slurmapi.h"

/*
 * In the child
 */

static int slurm_error (struct error *err)
{
    return error_world (err, "%s", slurm_strerror (errno));
}

/* Runs in the child, since NSS may hang, like slurmctld. */
static void user_name (char name[CONTROLLER_NAME], uid_t uid)
{
    const struct passwd *pw = getpwuid (uid);

    if (pw && strlen (pw->pw_name) < CONTROLLER_NAME)
        strcpy (name, pw->pw_name);
    else
        snprintf (name, CONTROLLER_NAME, "%ju", (uintmax_t)uid);
}

/* Answer: the state, name and Reason of each node, and who set the Reason. */
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

        if (!n->name) /* state FUTURE */
            continue;
        if (reason && n->reason_uid != last)
            user_name (by, last = n->reason_uid);
        child_put_number (out, n->node_state);
        child_put (out, n->name);
        child_put (out, reason ? n->reason : NULL);
        child_put (out, reason ? by : NULL);
    }
    return 0;
}

struct node_change {
    const char *node, *reason;
    bool resume; /* else drain */
};

/* Whether the node's state allows the change. */
static bool is_due (const struct node_change *c, const node_info_t *n)
{
    struct policy_node now = { 0 };

    if (!c->resume)
        return !(n->node_state & NODE_STATE_DRAIN);
    controller_state (&now, n->node_state);
    return now.drained && !now.down && !now.powered_down && n->reason
           && strcmp (n->reason, c->reason) == 0
           && n->reason_uid == geteuid ();
}

/* Answer: 1 if the change was due, else 0. */
static int change_node (FILE *out, const void *arg, struct error *err)
{
    const struct node_change *c = arg;
    node_info_msg_t *msg;
    update_node_msg_t update;
    bool due;

    if (slurm_load_node_single (&msg, (char *)c->node, SHOW_ALL)
        != SLURM_SUCCESS)
        return slurm_error (err);
    if (msg->record_count != 1 || !msg->node_array[0].name)
        return error_world (err, "there is no node %s", c->node);
    due = is_due (c, &msg->node_array[0]);
    slurm_init_update_node_msg (&update);
    update.node_names = (char *)c->node;
    update.node_state = c->resume ? NODE_RESUME : NODE_STATE_DRAIN;
    if (!c->resume) {
        update.reason = (char *)c->reason;
        slurmapi_reason_by (&update, geteuid ());
    }
    if (due && slurm_update_node (&update) != SLURM_SUCCESS)
        return slurm_error (err);
    child_put_number (out, due);
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

/* Whether the node is idle and has exactly these flags, CLOUD and DYNAMIC_NORM
 * aside.
 */
static bool is_idle (const node_info_t *n, uint32_t flags)
{
    const uint32_t rest = NODE_STATE_CLOUD | NODE_STATE_DYNAMIC_NORM;

    return n->name && (n->node_state & ~rest) == (NODE_STATE_IDLE | flags);
}

/* Answer: names of nodes. */
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
    members = xcheck (slurm_hostlist_create (part->nodes));
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const node_info_t *n = &nodes->node_array[i];

        if (is_idle (n, 0) && slurm_hostlist_find (members, n->name) >= 0)
            child_put (out, n->name);
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
            child_put (out, n->name);
    }
    return 0;
}

static bool share_nodes (const partition_info_t *a, const partition_info_t *b)
{
    void *mine = slurm_hostlist_create (a->nodes);
    void *theirs = slurm_hostlist_create (b->nodes);
    const char *name = NULL;

    while (mine && theirs && (name = slurm_hostlist_shift (theirs))
           && slurm_hostlist_find (mine, name) < 0)
        ;
    return !mine || !theirs || name;
}

static bool may_be_preempted (const partition_info_t *part,
                              const slurm_conf_t *conf)
{
    uint16_t mode = part->preempt_mode == NO_VAL16 ? conf->preempt_mode
                                                   : part->preempt_mode;

    return (mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF;
}

/* Answer: a partition whose jobs would be preempted, or nothing. */
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
            child_put (out, other->name);
            return 0;
        }
    }
    return 0;
}

/* Answer: the number of jobs. */
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
    child_put_number (out, n);
    return 0;
}

/* Answer: UID and name. */
static int tell_user (FILE *out, const void *arg, struct error *err)
{
    slurm_conf_t *conf;
    char name[CONTROLLER_NAME];

    (void)arg;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return slurm_error (err);
    user_name (name, conf->slurm_user_id);
    child_put_number (out, conf->slurm_user_id);
    child_put (out, name);
    return 0;
}

/* Write the name and the value of a line "NAME   = VALUE". */
static void put_line (FILE *out, char *line)
{
    char *equals = strstr (line, " = ");
    char *value = equals ? equals + 3 : NULL;

    if (!equals)
        return;
    while (equals > line && equals[-1] == ' ')
        equals--;
    *equals = '\0';
    child_put (out, line);
    child_put (out, strcmp (value, "(null)") == 0 ? NULL : value);
}

/* Answer: names and values. */
static int tell_conf (FILE *out, const void *arg, struct error *err)
{
    slurm_conf_t *conf;
    char *text = NULL, *line;
    size_t len;
    FILE *fp = xcheck (open_memstream (&text, &len));

    (void)arg;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return slurm_error (err);
    slurm_print_ctl_conf (fp, conf);
    xcheck (fclose (fp) == 0 ? text : NULL);
    while ((line = strsep (&text, "\n")))
        put_line (out, line);
    return 0;
}

/* Answer: whether the partition is up and open, its limit, and the nodes that
 * are not in it; or nothing.
 */
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
    members = xcheck (slurm_hostlist_create (part->nodes));
    child_put_number (out, part->state_up == PARTITION_UP);
    child_put_number (out, !(part->flags & PART_FLAG_ROOT_ONLY));
    child_put_number (out, part->max_time);
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const char *name = nodes->node_array[i].name;

        if (name && slurm_hostlist_find (members, name) < 0)
            child_put (out, name);
    }
    return 0;
}

/* Answer: the number of associations. */
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
    child_put_number (out, (uint64_t)slurm_list_count (found));
    return 0;
}

struct controller_call {
    child_f fn;
    const void *arg;
};

static int prepare_and_call (FILE *out, const void *arg, struct error *err)
{
    const struct controller_call *call = arg;

    return slurmapi_start (err) < 0 ? -1 : call->fn (out, call->arg, err);
}

/*
 * In the caller
 */

static int ask (child_f fn, const void *arg, struct child_answer *answer,
                struct error *err)
{
    const struct controller_call call = { fn, arg };

    if (child_call (prepare_and_call, &call, CONTROLLER_WAIT_MS, answer, err)
        < 0)
        return error_prefix (err, "slurmctld");
    return 0;
}

static int garbled (struct error *err)
{
    return error_world (err, "slurmctld: its answer makes no sense");
}

/* An answer that is one number. Return it, or -1 with err. */
static int ask_number (child_f fn, const void *arg, struct error *err)
{
    struct child_answer answer;
    uint64_t n;
    int rc;

    if (ask (fn, arg, &answer, err) < 0)
        return -1;
    rc = child_next_number (&answer, INT_MAX, &n) < 0 ? garbled (err) : (int)n;
    free (answer.text);
    return rc;
}

/* The remaining names of an answer. Return 0, or -1 with err and no names. */
static int take_names (struct hostlist *hl, struct child_answer *answer,
                       struct error *err)
{
    const char *name;

    *hl = (struct hostlist){ 0 };
    while ((name = child_next (answer))) {
        if (hl->count == CONTROLLER_NODES_MAX || !text_is_hostname (name)) {
            hostlist_clear (hl);
            return garbled (err);
        }
        hl->name = xgrow (hl->name, hl->count, sizeof (*hl->name));
        hl->name[hl->count++] = xstrdup (name);
    }
    return 0;
}

/* An answer that is a list of names; the result is sorted. */
static int ask_names (struct hostlist *hl, child_f fn, const void *arg,
                      struct error *err)
{
    struct child_answer answer;
    int rc;

    *hl = (struct hostlist){ 0 };
    if (ask (fn, arg, &answer, err) < 0)
        return -1;
    rc = take_names (hl, &answer, err);
    hl->count = text_unique ((const char **)hl->name, hl->count);
    free (answer.text);
    return rc;
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

static const char *or_null (const char *s)
{
    return *s ? s : NULL;
}

static int take_nodes (struct controller_nodes *s, struct child_answer *answer,
                       struct error *err)
{
    const char *name, *reason, *by;
    uint64_t state;

    while (child_next_number (answer, UINT32_MAX, &state) == 0
           && (name = child_next (answer)) && (reason = child_next (answer))
           && (by = child_next (answer))) {
        if (s->n == CONTROLLER_NODES_MAX)
            return error_world (err, "slurmctld: more than %d nodes",
                                CONTROLLER_NODES_MAX);
        s->v = xgrow (s->v, s->n, sizeof (*s->v));
        s->v[s->n] = (struct policy_node){ .name = name,
                                           .reason = or_null (reason),
                                           .by = or_null (by) };
        controller_state (&s->v[s->n++], (uint32_t)state);
    }
    return answer->at == answer->len ? 0 : garbled (err);
}

int controller_nodes (struct controller_nodes *nodes, struct error *err)
{
    struct child_answer answer;

    *nodes = (struct controller_nodes){ 0 };
    if (ask (tell_nodes, NULL, &answer, err) < 0)
        return -1;
    nodes->text = answer.text;
    if (take_nodes (nodes, &answer, err) == 0)
        return 0;
    controller_nodes_clear (nodes);
    return -1;
}

void controller_nodes_clear (struct controller_nodes *nodes)
{
    free (nodes->v);
    free (nodes->text);
    *nodes = (struct controller_nodes){ 0 };
}

static int change (const struct node_change *c, struct error *err)
{
    if (!text_is_hostname (c->node) || !c->reason[0])
        return error_input (err, "%s and its Reason: not to be given to Slurm",
                            c->node);
    return ask_number (change_node, c, err);
}

int controller_drain (const char *node, const char *reason, struct error *err)
{
    return change (&(struct node_change){ node, reason, false }, err);
}

int controller_resume (const char *node, const char *reason,
                       struct error *err)
{
    return change (&(struct node_change){ node, reason, true }, err);
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
    struct child_answer answer;
    const char *other;

    if (ask (tell_evicted, partition, &answer, err) < 0)
        return -1;
    if ((other = child_next (&answer)))
        error_input (err, "jobs in partition %.60s would preempt those in "
                          "%.60s: give it no higher PriorityTier", partition,
                     other);
    free (answer.text);
    return other != NULL;
}

int controller_cancel (const char *job_name, struct error *err)
{
    return ask_number (cancel_jobs, job_name, err);
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME],
                     struct error *err)
{
    struct child_answer answer;
    const char *known;
    uint64_t id;
    int rc = 0;

    if (ask (tell_user, NULL, &answer, err) < 0)
        return -1;
    if (child_next_number (&answer, UINT32_MAX, &id) < 0
        || !(known = child_next (&answer)))
        rc = garbled (err);
    else {
        *uid = (uid_t)id;
        snprintf (name, CONTROLLER_NAME, "%s", known);
    }
    free (answer.text);
    return rc;
}

int controller_conf (struct controller_conf *conf, struct error *err)
{
    return ask (tell_conf, NULL, &conf->values, err);
}

void controller_conf_clear (struct controller_conf *conf)
{
    free (conf->values.text);
    *conf = (struct controller_conf){ 0 };
}

const char *controller_conf_get (const struct controller_conf *conf,
                                 const char *name)
{
    struct child_answer values = conf->values;
    const char *key, *value;

    while ((key = child_next (&values)) && (value = child_next (&values)))
        if (strcmp (key, name) == 0)
            return value;
    return "";
}

int controller_partition (struct controller_partition *part, const char *name,
                          struct error *err)
{
    struct child_answer answer;
    uint64_t up, open, minutes;
    int rc = 1;

    if (ask (tell_partition, name, &answer, err) < 0)
        return -1;
    if (answer.len == 0)
        rc = 0;
    else if (child_next_number (&answer, 1, &up) < 0
             || child_next_number (&answer, 1, &open) < 0
             || child_next_number (&answer, UINT32_MAX, &minutes) < 0)
        rc = garbled (err);
    else {
        *part = (struct controller_partition){ .up = up, .open = open,
                                               .minutes = (uint32_t)minutes };
        if (take_names (&part->outside, &answer, err) < 0)
            rc = -1;
    }
    free (answer.text);
    return rc;
}

void controller_partition_clear (struct controller_partition *part)
{
    hostlist_clear (&part->outside);
}

int controller_associated (const char *user, struct error *err)
{
    int n = ask_number (tell_associations, user, err);

    return n < 0 ? -1 : n > 0;
}
