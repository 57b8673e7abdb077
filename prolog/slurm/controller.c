/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmctld. The child frees no memory, because it exits after the
 * call.
 */
#include "config.h"
#include "prolog/slurm/controller.h"

#include <errno.h>
#include <inttypes.h>
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

/* What a request needs to know of slurmctld. */
enum controller_needs { NEEDS_CONF = 1, NEEDS_PARTITIONS = 2, NEEDS_NODES = 4 };

struct request {
    int (*run) (FILE *out, const struct request *rq, struct error *err);
    const char *arg;    /* the name of a partition, job, node or user */
    int needs;
    const char *reason; /* of a drained node */
    bool resume;        /* else drain */

    /* in the child: */
    slurm_conf_t *conf;
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes;
};

static int slurm_error (struct error *err)
{
    return error_world (err, "%s", slurm_strerror (errno));
}

static int run_request (FILE *out, const void *arg, struct error *err)
{
    struct request rq = *(const struct request *)arg;

    if (slurmapi_start (err) < 0)
        return -1;
    if ((rq.needs & NEEDS_CONF
         && slurm_load_ctl_conf (0, &rq.conf) != SLURM_SUCCESS)
        || (rq.needs & NEEDS_PARTITIONS
            && slurm_load_partitions (0, &rq.partitions, SHOW_ALL)
                   != SLURM_SUCCESS)
        || (rq.needs & NEEDS_NODES
            && slurm_load_node (0, &rq.nodes, SHOW_ALL) != SLURM_SUCCESS))
        return slurm_error (err);
    return rq.run (out, &rq, err);
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
static int tell_nodes (FILE *out, const struct request *rq, struct error *err)
{
    char by[CONTROLLER_NAME] = "";
    uid_t last = (uid_t)-1;

    (void)err;
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];
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

/* Whether the node's state allows the change. */
static bool is_due (const struct request *rq, const node_info_t *n)
{
    struct policy_node now = { 0 };

    if (!rq->resume)
        return !(n->node_state & NODE_STATE_DRAIN);
    controller_state (&now, n->node_state);
    return now.drained && !now.down && !now.powered_down && n->reason
           && strcmp (n->reason, rq->reason) == 0
           && n->reason_uid == geteuid ();
}

/* Answer: 1 if the change was due, else 0. */
static int change_node (FILE *out, const struct request *rq, struct error *err)
{
    node_info_msg_t *msg;
    update_node_msg_t update;
    bool due;

    if (slurm_load_node_single (&msg, (char *)rq->arg, SHOW_ALL)
        != SLURM_SUCCESS)
        return slurm_error (err);
    if (msg->record_count != 1 || !msg->node_array[0].name)
        return error_world (err, "there is no node %s", rq->arg);
    due = is_due (rq, &msg->node_array[0]);
    slurm_init_update_node_msg (&update);
    update.node_names = (char *)rq->arg;
    update.node_state = rq->resume ? NODE_RESUME : NODE_STATE_DRAIN;
    if (!rq->resume) {
        update.reason = (char *)rq->reason;
        slurmapi_reason_by (&update, geteuid ());
    }
    if (due && slurm_update_node (&update) != SLURM_SUCCESS)
        return slurm_error (err);
    child_put_number (out, due);
    return 0;
}

/* The partition of the request; NULL: there is none. */
static const partition_info_t *find_partition (const struct request *rq,
                                               struct error *err)
{
    for (uint32_t i = 0; i < rq->partitions->record_count; i++)
        if (!strcmp (rq->partitions->partition_array[i].name, rq->arg))
            return &rq->partitions->partition_array[i];
    error_world (err, "there is no partition %s", rq->arg);
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
static int tell_idle (FILE *out, const struct request *rq, struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);
    void *members = part ? xcheck (slurm_hostlist_create (part->nodes)) : NULL;

    for (uint32_t i = 0; part && i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];

        if (is_idle (n, 0) && slurm_hostlist_find (members, n->name) >= 0)
            child_put (out, n->name);
    }
    return part ? 0 : -1;
}

static int tell_drained (FILE *out, const struct request *rq,
                         struct error *err)
{
    static const char ours[] = CONTROLLER_OURS;

    (void)err;
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];

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

/* Answer: a partition whose jobs would be preempted, or nothing. */
static int tell_evicted (FILE *out, const struct request *rq,
                         struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);

    if (!part)
        return -1;
    if (!rq->conf->preempt_type
        || strcmp (rq->conf->preempt_type, "preempt/partition_prio"))
        return 0;
    for (uint32_t i = 0; i < rq->partitions->record_count; i++) {
        const partition_info_t *other = &rq->partitions->partition_array[i];
        uint16_t mode = other->preempt_mode == NO_VAL16
                            ? rq->conf->preempt_mode
                            : other->preempt_mode;

        if (other->priority_tier < part->priority_tier
            && (mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF
            && share_nodes (part, other)) {
            child_put (out, other->name);
            return 0;
        }
    }
    return 0;
}

/* Answer: the number of jobs. */
static int cancel_jobs (FILE *out, const struct request *rq, struct error *err)
{
    job_info_msg_t *jobs;
    unsigned int n = 0;

    if (slurm_load_job_user (&jobs, geteuid (), SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (err);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *job = &jobs->job_array[i];

        if ((job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED || !job->name
            || strcmp (job->name, rq->arg))
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
static int tell_user (FILE *out, const struct request *rq, struct error *err)
{
    char name[CONTROLLER_NAME];

    (void)err;
    user_name (name, rq->conf->slurm_user_id);
    child_put_number (out, rq->conf->slurm_user_id);
    child_put (out, name);
    return 0;
}

/* Answer: names and values, from lines "NAME   = VALUE". */
static int tell_conf (FILE *out, const struct request *rq, struct error *err)
{
    char *text = NULL, *line;
    size_t len;
    FILE *fp = xcheck (open_memstream (&text, &len));

    (void)err;
    slurm_print_ctl_conf (fp, rq->conf);
    xcheck (fclose (fp) == 0 ? text : NULL);
    while ((line = strsep (&text, "\n"))) {
        char *equals = strstr (line, " = ");
        char *value = equals ? equals + 3 : NULL;

        if (!equals)
            continue;
        while (equals > line && equals[-1] == ' ')
            equals--;
        *equals = '\0';
        child_put (out, line);
        child_put (out, strcmp (value, "(null)") == 0 ? NULL : value);
    }
    return 0;
}

/* Answer: whether the partition is up and open, its limit, and the nodes that
 * are not in it; or nothing.
 */
static int tell_partition (FILE *out, const struct request *rq,
                           struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);
    void *members;

    if (!part)
        return 0;
    members = xcheck (slurm_hostlist_create (part->nodes));
    child_put_number (out, part->state_up == PARTITION_UP);
    child_put_number (out, !(part->flags & PART_FLAG_ROOT_ONLY));
    child_put_number (out, part->max_time);
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const char *name = rq->nodes->node_array[i].name;

        if (name && slurm_hostlist_find (members, name) < 0)
            child_put (out, name);
    }
    return 0;
}

/* Answer: the number of associations. */
static int tell_associations (FILE *out, const struct request *rq,
                              struct error *err)
{
    slurmdb_assoc_cond_t cond = { 0 };
    uint16_t flags = 0;
    void *db;
    void *found;

    cond.user_list = slurm_list_create (NULL);
    cond.cluster_list = slurm_list_create (NULL);
    slurm_list_append (cond.user_list, (void *)rq->arg);
    slurm_list_append (cond.cluster_list, rq->conf->cluster_name);
    if (!(db = slurmdb_connection_get (&flags))
        || !(found = slurmdb_associations_get (db, &cond)))
        return slurm_error (err);
    child_put_number (out, (uint64_t)slurm_list_count (found));
    return 0;
}

/*
 * In the caller
 */

static int ask (const struct request *rq, struct child_answer *answer,
                struct error *err)
{
    if (child_call (run_request, rq, CONTROLLER_WAIT_MS, answer, err) < 0)
        return error_prefix (err, "slurmctld");
    return 0;
}

/* An answer that is one number. Return it, or -1 with err. */
static int ask_number (const struct request *rq, struct error *err)
{
    struct child_answer answer;
    int n;

    if (ask (rq, &answer, err) < 0)
        return -1;
    n = (int)child_number (&answer, 0);
    child_clear (&answer);
    return n;
}

/* The names of an answer, from the given one on. */
static void take_names (struct hostlist *hl, const struct child_answer *answer,
                        size_t from)
{
    hl->count = answer->n - from;
    hl->name = xarray (hl->count, sizeof (*hl->name));
    for (size_t i = 0; i < hl->count; i++)
        hl->name[i] = xstrdup (answer->v[from + i]);
}

/* An answer that is a list of names; the result is sorted. */
static int ask_names (struct hostlist *hl, const struct request *rq,
                      struct error *err)
{
    struct child_answer answer;

    *hl = (struct hostlist){ 0 };
    if (ask (rq, &answer, err) < 0)
        return -1;
    take_names (hl, &answer, 0);
    hl->count = text_unique ((const char **)hl->name, hl->count);
    child_clear (&answer);
    return 0;
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

int controller_nodes (struct controller_nodes *nodes, struct error *err)
{
    const struct request rq = { tell_nodes, .needs = NEEDS_NODES };

    *nodes = (struct controller_nodes){ 0 };
    if (ask (&rq, &nodes->answer, err) < 0)
        return -1;
    nodes->n = nodes->answer.n / 4;
    nodes->v = xcalloc (nodes->n, sizeof (*nodes->v));
    for (size_t i = 0; i < nodes->n; i++) {
        char *const *v = &nodes->answer.v[4 * i];

        nodes->v[i].name = v[1];
        nodes->v[i].reason = *v[2] ? v[2] : NULL;
        nodes->v[i].by = *v[3] ? v[3] : NULL;
        controller_state (&nodes->v[i],
                          (uint32_t)child_number (&nodes->answer, 4 * i));
    }
    return 0;
}

void controller_nodes_clear (struct controller_nodes *nodes)
{
    free (nodes->v);
    child_clear (&nodes->answer);
    *nodes = (struct controller_nodes){ 0 };
}

static int change (const char *node, const char *reason, bool resume,
                   struct error *err)
{
    const struct request rq
        = { change_node, .arg = node, .reason = reason, .resume = resume };

    if (!text_is_hostname (node) || !*reason)
        return error_input (err, "node '%s' or its Reason is not valid",
                            node);
    return ask_number (&rq, err);
}

int controller_drain (const char *node, const char *reason, struct error *err)
{
    return change (node, reason, false, err);
}

int controller_resume (const char *node, const char *reason,
                       struct error *err)
{
    return change (node, reason, true, err);
}

int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err)
{
    const struct request rq
        = { tell_idle, .arg = partition,
            .needs = NEEDS_PARTITIONS | NEEDS_NODES };

    return ask_names (hl, &rq, err);
}

int controller_drained (struct hostlist *hl, struct error *err)
{
    const struct request rq = { tell_drained, .needs = NEEDS_NODES };

    return ask_names (hl, &rq, err);
}

int controller_evicts (const char *partition, struct error *err)
{
    const struct request rq
        = { tell_evicted, .arg = partition,
            .needs = NEEDS_CONF | NEEDS_PARTITIONS };
    struct child_answer answer;
    int rc;

    if (ask (&rq, &answer, err) < 0)
        return -1;
    if ((rc = answer.n > 0))
        error_input (err, "jobs in partition %.60s would preempt those in "
                          "%.60s: give it no higher PriorityTier", partition,
                     answer.v[0]);
    child_clear (&answer);
    return rc;
}

int controller_cancel (const char *job_name, struct error *err)
{
    return ask_number (&(struct request){ cancel_jobs,
                                          .arg = job_name }, err);
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME],
                     struct error *err)
{
    const struct request rq = { tell_user, .needs = NEEDS_CONF };
    struct child_answer answer;

    if (ask (&rq, &answer, err) < 0)
        return -1;
    *uid = (uid_t)child_number (&answer, 0);
    snprintf (name, CONTROLLER_NAME, "%s", answer.v[1]);
    child_clear (&answer);
    return 0;
}

int controller_conf (struct controller_conf *conf, struct error *err)
{
    const struct request rq = { tell_conf, .needs = NEEDS_CONF };

    return ask (&rq, &conf->values, err);
}

void controller_conf_clear (struct controller_conf *conf)
{
    child_clear (&conf->values);
}

const char *controller_conf_get (const struct controller_conf *conf,
                                 const char *name)
{
    for (size_t i = 0; i < conf->values.n; i += 2)
        if (strcmp (conf->values.v[i], name) == 0)
            return conf->values.v[i + 1];
    return "";
}

int controller_partition (struct controller_partition *part, const char *name,
                          struct error *err)
{
    const struct request rq
        = { tell_partition, .arg = name,
            .needs = NEEDS_PARTITIONS | NEEDS_NODES };
    struct child_answer answer;
    int rc;

    if (ask (&rq, &answer, err) < 0)
        return -1;
    if ((rc = answer.n > 0)) {
        *part = (struct controller_partition){
            .up = child_number (&answer, 0),
            .open = child_number (&answer, 1),
            .minutes = (uint32_t)child_number (&answer, 2),
        };
        take_names (&part->outside, &answer, 3);
    }
    child_clear (&answer);
    return rc;
}

void controller_partition_clear (struct controller_partition *part)
{
    hostlist_clear (&part->outside);
}

int controller_associated (const char *user, struct error *err)
{
    const struct request rq
        = { tell_associations, .arg = user, .needs = NEEDS_CONF };
    int n = ask_number (&rq, err);

    return n < 0 ? -1 : n > 0;
}
