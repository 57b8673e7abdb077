/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmctld. */
#include "config.h"
#include "prolog/slurm/controller.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/slurm/child.h"
#include "util/json.h"
#include "util/slurmapi.h"

/*
 * In the child
 */

/* What a request needs to know of slurmctld. */
enum controller_needs { NEEDS_CONF = 1, NEEDS_PARTITIONS = 2, NEEDS_NODES = 4 };

struct request {
    json_t *(*run) (const struct request *rq, struct error *err);
    int needs;
    const char *arg;    /* the name of a partition, job, node or user */
    const char *reason; /* of a node to drain or to resume */
    bool resume;

    /* in the child: */
    slurm_conf_t *conf;
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes;
};

static json_t *slurm_error (struct error *err)
{
    error_world (err, "%s", slurm_strerror (errno));
    return NULL;
}

static json_t *run_request (const void *arg, struct error *err)
{
    struct request rq = *(const struct request *)arg;

    if (slurmapi_start (err) < 0)
        return NULL;
    if ((rq.needs & NEEDS_CONF
         && slurm_load_ctl_conf (0, &rq.conf) != SLURM_SUCCESS)
        || (rq.needs & NEEDS_PARTITIONS
            && slurm_load_partitions (0, &rq.partitions, SHOW_ALL)
                   != SLURM_SUCCESS)
        || (rq.needs & NEEDS_NODES
            && slurm_load_node (0, &rq.nodes, SHOW_ALL) != SLURM_SUCCESS))
        return slurm_error (err);
    return rq.run (&rq, err);
}

/* Runs in the child, since NSS may hang, like slurmctld. */
static void controller_user_name (char name[CONTROLLER_NAME], uid_t uid)
{
    const struct passwd *pw = getpwuid (uid);

    if (pw && strlen (pw->pw_name) < CONTROLLER_NAME)
        strcpy (name, pw->pw_name);
    else
        snprintf (name, CONTROLLER_NAME, "%ju", (uintmax_t)uid);
}

/* Each node's state, name, Reason, and who set the Reason. */
static json_t *tell_nodes (const struct request *rq, struct error *err)
{
    json_t *rows = xcheck (json_array ());
    char by[CONTROLLER_NAME] = "";
    uid_t last = (uid_t)-1;

    (void)err;
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];
        bool reason = n->reason && n->reason[0];

        if (!n->name) /* state FUTURE */
            continue;
        if (reason && n->reason_uid != last)
            controller_user_name (by, last = n->reason_uid);
        json_add (rows, json_pack ("[I, o, o, o]", (json_int_t)n->node_state,
                                   child_text (n->name),
                                   child_text (n->reason),
                                   child_text (reason ? by : NULL)));
    }
    return rows;
}

/* Whether the node's state allows the change. */
static bool is_state_change_allowed (const struct request *rq,
                                     const node_info_t *n)
{
    struct policy_node now = { 0 };

    if (!rq->resume)
        return !(n->node_state & NODE_STATE_DRAIN);
    controller_state (&now, n->node_state);
    return now.drained && !now.down && !now.powered_down && n->reason
           && strcmp (n->reason, rq->reason) == 0
           && n->reason_uid == geteuid ();
}

/* 1 if the change was due, else 0. */
static json_t *change_node (const struct request *rq, struct error *err)
{
    node_info_msg_t *msg;
    update_node_msg_t update;
    bool due;

    if (slurm_load_node_single (&msg, (char *)rq->arg, SHOW_ALL)
        != SLURM_SUCCESS)
        return slurm_error (err);
    if (msg->record_count != 1 || !msg->node_array[0].name) {
        error_world (err, "there is no node %s", rq->arg);
        return NULL;
    }
    due = is_state_change_allowed (rq, &msg->node_array[0]);
    slurm_init_update_node_msg (&update);
    update.node_names = (char *)rq->arg;
    update.node_state = rq->resume ? NODE_RESUME : NODE_STATE_DRAIN;
    if (!rq->resume) {
        update.reason = (char *)rq->reason;
        slurmapi_reason_by (&update, geteuid ());
    }
    if (due && slurm_update_node (&update) != SLURM_SUCCESS)
        return slurm_error (err);
    return json_integer (due);
}

/* The partition of the request; NULL: there is none. */
static const partition_info_t *find_partition (const struct request *rq,
                                               struct error *err)
{
    for (uint32_t i = 0; i < rq->partitions->record_count; i++) {
        const partition_info_t *part = &rq->partitions->partition_array[i];

        if (rq->arg ? !strcmp (part->name, rq->arg)
                    : part->flags & PART_FLAG_DEFAULT)
            return part;
    }
    error_world (err, "there is no %s%s",
                 rq->arg ? "partition " : "default partition",
                 rq->arg ? rq->arg : "");
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

static json_t *tell_idle (const struct request *rq, struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);
    void *members = part ? xcheck (slurm_hostlist_create (part->nodes)) : NULL;
    json_t *names = part ? xcheck (json_array ()) : NULL;

    for (uint32_t i = 0; part && i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];

        if (is_idle (n, 0) && slurm_hostlist_find (members, n->name) >= 0)
            json_add (names, child_text (n->name));
    }
    return names;
}

static json_t *tell_drained (const struct request *rq, struct error *err)
{
    static const char ours[] = CONTROLLER_OURS;
    json_t *names = xcheck (json_array ());

    (void)err;
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];

        if (is_idle (n, NODE_STATE_DRAIN) && n->reason
            && strncmp (n->reason, ours, sizeof (ours) - 1) == 0
            && n->reason_uid == geteuid ())
            json_add (names, child_text (n->name));
    }
    return names;
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

/* A partition whose jobs would be preempted, or null. */
static json_t *tell_evicted (const struct request *rq, struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);

    if (!part)
        return NULL;
    if (!rq->conf->preempt_type
        || strcmp (rq->conf->preempt_type, "preempt/partition_prio"))
        return json_null ();
    for (uint32_t i = 0; i < rq->partitions->record_count; i++) {
        const partition_info_t *other = &rq->partitions->partition_array[i];
        uint16_t mode = other->preempt_mode == NO_VAL16
                            ? rq->conf->preempt_mode
                            : other->preempt_mode;

        if (other->priority_tier < part->priority_tier
            && (mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF
            && share_nodes (part, other))
            return child_text (other->name);
    }
    return json_null ();
}

/* "12"; or "12_3", a task of an array. */
static bool parse_job (const char *word, uint32_t *id, uint32_t *task,
                       bool *array)
{
    char *number = xstrdup (word), *under = strchr (number, '_');
    uint64_t job, of = 0;
    bool valid;

    *array = under != NULL;
    if (under)
        *under++ = '\0';
    valid = text_u64 (number, 1, UINT32_MAX, &job) == 0
            && (!under || text_u64 (under, 0, UINT32_MAX, &of) == 0);
    free (number);
    *id = valid ? (uint32_t)job : 0;
    *task = (uint32_t)of;
    return valid;
}

static json_t *tell_job (const struct request *rq, struct error *err)
{
    const job_info_t *job = NULL;
    char name[CONTROLLER_NAME];
    uint32_t id, task, state;
    job_info_msg_t *msg;
    bool array;

    if (!parse_job (rq->arg, &id, &task, &array))
        return json_null ();
    if (slurm_load_job (&msg, slurmapi_job (id), SHOW_ALL) != SLURM_SUCCESS)
        return errno == ESLURM_INVALID_JOB_ID ? json_null ()
                                              : slurm_error (err);
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const job_info_t *j = &msg->job_array[i];

        if (array ? j->array_job_id == id && j->array_task_id == task
                  : j->slurmapi_job_id == id)
            job = j;
    }
    if (!job)
        return json_null ();
    state = job->job_state & JOB_STATE_BASE;
    controller_user_name (name, job->user_id);
    return json_pack (
        "{s:I, s:I, s:o, s:s, s:I, s:b, s:o, s:o}", "id",
        (json_int_t)job->slurmapi_job_id, "uid", (json_int_t)job->user_id,
        "user", child_text (name), "state",
        state == JOB_PENDING                                  ? "pending"
        : state == JOB_SUSPENDED                              ? "suspended"
        : state > JOB_SUSPENDED
                || job->job_state & JOB_COMPLETING            ? "ended"
        : job->job_state & JOB_CONFIGURING                    ? "starting"
                                                              : "running",
        "count", (json_int_t)job->num_nodes, "het", job->het_job_id != 0,
        "nodes", child_text (job->nodes), "comment",
        child_text (job->comment));
}

/* The number of jobs. */
static json_t *cancel_jobs (const struct request *rq, struct error *err)
{
    job_info_msg_t *jobs;
    int n = 0;

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
    return json_integer (n);
}

static json_t *tell_user (const struct request *rq, struct error *err)
{
    char name[CONTROLLER_NAME];

    (void)err;
    controller_user_name (name, rq->conf->slurm_user_id);
    return json_pack ("[I, o]", (json_int_t)rq->conf->slurm_user_id,
                      child_text (name));
}

/* From lines "NAME   = VALUE"; the first one with a name counts. */
static json_t *tell_conf (const struct request *rq, struct error *err)
{
    json_t *conf = xcheck (json_object ());
    char *text = NULL, *line;
    size_t len;
    FILE *fp = xcheck (open_memstream (&text, &len));

    (void)err;
    slurm_print_ctl_conf (fp, rq->conf);
    xcheck (fclose (fp) == 0 ? text : NULL);
    while ((line = strsep (&text, "\n"))) {
        char *equals = strstr (line, " = ");
        const char *value = equals ? equals + 3 : NULL;

        if (!equals)
            continue;
        while (equals > line && equals[-1] == ' ')
            equals--;
        *equals = '\0';
        if (!json_object_get (conf, text_clean (line)))
            json_put (conf, line,
                      child_text (strcmp (value, "(null)") ? value : NULL));
    }
    return conf;
}

static json_t *tell_partition (const struct request *rq, struct error *err)
{
    const partition_info_t *part = find_partition (rq, err);
    json_t *inside = xcheck (json_array ());
    json_t *outside = xcheck (json_array ());
    void *members;

    if (!part)
        return json_null ();
    members = xcheck (slurm_hostlist_create (part->nodes));
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const char *name = rq->nodes->node_array[i].name;

        if (name)
            json_add (slurm_hostlist_find (members, name) < 0 ? outside
                                                              : inside,
                      child_text (name));
    }
    return json_pack ("{s:b, s:b, s:I, s:o, s:o}", "up",
                      part->state_up == PARTITION_UP, "open",
                      !(part->flags & PART_FLAG_ROOT_ONLY), "minutes",
                      (json_int_t)part->max_time, "inside", inside,
                      "outside", outside);
}

/* The number of associations. */
static json_t *tell_associations (const struct request *rq, struct error *err)
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
    return json_integer (slurm_list_count (found));
}

/*
 * In the caller
 */

static json_t *ask_slurmctld (const struct request *rq, struct error *err)
{
    json_t *v = child_call (run_request, rq, CONTROLLER_WAIT_MS, err);

    if (!v)
        error_prefix (err, "slurmctld");
    return v;
}

/* An answer that is one number. Return it, or -1 with err. */
static int ask_number (const struct request *rq, struct error *err)
{
    json_t *v = ask_slurmctld (rq, err);
    int n = v ? (int)json_integer_value (v) : -1;

    json_decref (v);
    return n;
}

#define REQUEST(run_, needs_, arg_)                                           \
    (&(const struct request){ .run = run_, .needs = needs_, .arg = arg_ })

/* An answer that is a list of names; the result is sorted. */
static int ask_names (struct hostlist *hl, const struct request *rq,
                      struct error *err)
{
    json_t *names = ask_slurmctld (rq, err);

    *hl = (struct hostlist){ .count = json_array_size (names) };
    hl->name = xarray (hl->count, sizeof (*hl->name));
    for (size_t i = 0; i < hl->count; i++)
        hl->name[i] = xstrdup (json_string_value (json_array_get (names, i)));
    hl->count = text_unique ((const char **)hl->name, hl->count);
    json_decref (names);
    if (!names)
        hostlist_clear (hl);
    return names ? 0 : -1;
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
    json_t *rows = ask_slurmctld (REQUEST (tell_nodes, NEEDS_NODES, NULL), err);
    json_t *row;
    size_t i;

    *nodes = (struct controller_nodes){ .rows = rows };
    if (!rows)
        return -1;
    nodes->n = json_array_size (rows);
    nodes->v = xcalloc (nodes->n, sizeof (*nodes->v));
    json_array_foreach (rows, i, row) {
        struct policy_node *n = &nodes->v[i];

        n->name = json_string_value (json_array_get (row, 1));
        n->reason = json_string_value (json_array_get (row, 2));
        n->by = json_string_value (json_array_get (row, 3));
        controller_state (n, (uint32_t)json_integer_value (
                                 json_array_get (row, 0)));
    }
    return 0;
}

static int change (const char *node, const char *reason, bool resume,
                   struct error *err)
{
    if (!text_is_hostname (node) || !*reason)
        return error_input (err, "node '%s' or its Reason is not valid",
                            node);
    return ask_number (&(const struct request){ .run = change_node,
                                                .arg = node, .reason = reason,
                                                .resume = resume }, err);
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
    return ask_names (hl, REQUEST (tell_idle, NEEDS_PARTITIONS | NEEDS_NODES,
                                   partition), err);
}

int controller_drained (struct hostlist *hl, struct error *err)
{
    return ask_names (hl, REQUEST (tell_drained, NEEDS_NODES, NULL), err);
}

int controller_evicts (const char *partition, struct error *err)
{
    json_t *v = ask_slurmctld (
        REQUEST (tell_evicted, NEEDS_CONF | NEEDS_PARTITIONS, partition), err);
    int rc = v ? json_is_string (v) : -1;

    if (rc == 1)
        error_input (err, "jobs in partition %.60s would preempt those in "
                          "%.60s: give it no higher PriorityTier", partition,
                     json_string_value (v));
    json_decref (v);
    return rc;
}

json_t *controller_job (const char *job, struct error *err)
{
    return ask_slurmctld (REQUEST (tell_job, 0, job), err);
}

int controller_cancel (const char *job_name, struct error *err)
{
    return ask_number (REQUEST (cancel_jobs, 0, job_name), err);
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME],
                     struct error *err)
{
    json_t *v = ask_slurmctld (REQUEST (tell_user, NEEDS_CONF, NULL), err);

    if (!v)
        return -1;
    *uid = (uid_t)json_integer_value (json_array_get (v, 0));
    snprintf (name, CONTROLLER_NAME, "%s",
              json_string_value (json_array_get (v, 1)));
    json_decref (v);
    return 0;
}

json_t *controller_conf (struct error *err)
{
    return ask_slurmctld (REQUEST (tell_conf, NEEDS_CONF, NULL), err);
}

const char *controller_value (const json_t *conf, const char *key)
{
    const char *value = json_text (conf, key);
    char first[64];

    snprintf (first, sizeof (first), "%s[0]", key);
    return *value ? value : json_text (conf, first);
}

json_t *controller_partition (const char *name, struct error *err)
{
    return ask_slurmctld (
        REQUEST (tell_partition, NEEDS_PARTITIONS | NEEDS_NODES, name), err);
}

int controller_associated (const char *user, struct error *err)
{
    int n = ask_number (REQUEST (tell_associations, NEEDS_CONF, user), err);

    return n < 0 ? -1 : n > 0;
}
