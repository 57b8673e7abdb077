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

#include "util/alloc.h"
#include "util/slurmapi.h"
#include "util/sort.h"

/*
 * In the child
 */

/* What a request needs to know of slurmctld. */
enum controller_needs { NEEDS_CONF = 1, NEEDS_PARTITIONS = 2, NEEDS_NODES = 4 };

struct request {
    int (*run) (const struct request *rq, void *answer); /* as child_f */
    size_t size; /* of the answer */
    int needs;
    const char *arg;    /* the name of a partition, job, node or user */
    const char *reason; /* of a node to drain or to resume */
    bool resume;

    /* in the child: */
    struct error *err;
    slurm_conf_t *conf;
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes;
};

static int slurm_error (const struct request *rq)
{
    return error_world (rq->err, "%s", slurm_strerror (errno));
}

static int run_request (const void *arg, void *answer, struct error *err)
{
    struct request rq = *(const struct request *)arg;

    rq.err = err;
    if (slurmapi_start (err) < 0)
        return -1;
    if ((rq.needs & NEEDS_CONF
         && slurm_load_ctl_conf (0, &rq.conf) != SLURM_SUCCESS)
        || (rq.needs & NEEDS_PARTITIONS
            && slurm_load_partitions (0, &rq.partitions, SHOW_ALL)
                   != SLURM_SUCCESS)
        || (rq.needs & NEEDS_NODES
            && slurm_load_node (0, &rq.nodes, SHOW_ALL) != SLURM_SUCCESS))
        return slurm_error (&rq);
    return rq.run (&rq, answer);
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

static int tell_nodes (const struct request *rq, void *answer)
{
    struct controller_nodes *nodes = answer;
    char by[CONTROLLER_NAME] = "";
    uid_t last = (uid_t)-1;

    nodes->v = child_alloc (rq->nodes->record_count, sizeof (*nodes->v));
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];
        struct policy_node *to = &nodes->v[nodes->n];
        bool reason = n->reason && n->reason[0];

        if (!n->name) /* state FUTURE */
            continue;
        if (reason && n->reason_uid != last)
            controller_user_name (by, last = n->reason_uid);
        to->name = child_text (n->name);
        to->reason = child_text (n->reason);
        to->by = child_text (reason ? by : NULL);
        controller_state (to, n->node_state);
        nodes->n++;
    }
    return 0;
}

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

/* An int: 1 if the change was due. */
static int change_node (const struct request *rq, void *answer)
{
    int *due = answer;
    node_info_msg_t *msg;
    update_node_msg_t update;

    if (slurm_load_node_single (&msg, (char *)rq->arg, SHOW_ALL)
        != SLURM_SUCCESS)
        return slurm_error (rq);
    if (msg->record_count != 1 || !msg->node_array[0].name)
        return error_world (rq->err, "there is no node %s", rq->arg);
    *due = is_state_change_allowed (rq, &msg->node_array[0]);
    slurm_init_update_node_msg (&update);
    update.node_names = (char *)rq->arg;
    update.node_state = rq->resume ? NODE_RESUME : NODE_STATE_DRAIN;
    if (!rq->resume) {
        update.reason = (char *)rq->reason;
        slurmapi_reason_by (&update, geteuid ());
    }
    return *due && slurm_update_node (&update) != SLURM_SUCCESS
               ? slurm_error (rq)
               : 0;
}

/* The partition of the request; NULL: there is none. */
static const partition_info_t *find_partition (const struct request *rq)
{
    for (uint32_t i = 0; i < rq->partitions->record_count; i++) {
        const partition_info_t *part = &rq->partitions->partition_array[i];

        if (rq->arg ? !strcmp (part->name, rq->arg)
                    : part->flags & PART_FLAG_DEFAULT)
            return part;
    }
    error_world (rq->err, "there is no %s%s",
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

/* A list of nodes of the answer; put_name appends to it. */
static struct hostlist start_names (const struct request *rq)
{
    return (struct hostlist){ .name = child_alloc (rq->nodes->record_count,
                                                   sizeof (char *)) };
}

static void put_name (struct hostlist *names, const char *name)
{
    names->name[names->count++] = child_text (name);
}

static bool is_drained_by_us (const node_info_t *n)
{
    static const char ours[] = CONTROLLER_OURS;

    return is_idle (n, NODE_STATE_DRAIN) && n->reason
           && strncmp (n->reason, ours, sizeof (ours) - 1) == 0
           && n->reason_uid == geteuid ();
}

/* The idle nodes of a partition, or all that we drained. */
static int tell_idle (const struct request *rq, void *answer)
{
    bool drained = !(rq->needs & NEEDS_PARTITIONS);
    const partition_info_t *part = drained ? NULL : find_partition (rq);
    struct hostlist *names = answer;
    void *members = part ? xcheck (slurm_hostlist_create (part->nodes)) : NULL;

    if (!drained && !part)
        return -1;
    *names = start_names (rq);
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const node_info_t *n = &rq->nodes->node_array[i];

        if (drained ? is_drained_by_us (n)
                    : is_idle (n, 0)
                          && slurm_hostlist_find (members, n->name) >= 0)
            put_name (names, n->name);
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

/* A text: a partition whose jobs would be preempted; NULL: none. */
static int tell_evicted (const struct request *rq, void *answer)
{
    const partition_info_t *part = find_partition (rq);
    char **evicted = answer;

    if (!part)
        return -1;
    if (!rq->conf->preempt_type
        || strcmp (rq->conf->preempt_type, "preempt/partition_prio"))
        return 0;
    for (uint32_t i = 0; i < rq->partitions->record_count && !*evicted; i++) {
        const partition_info_t *other = &rq->partitions->partition_array[i];
        uint16_t mode = other->preempt_mode == NO_VAL16
                            ? rq->conf->preempt_mode
                            : other->preempt_mode;

        if (other->priority_tier < part->priority_tier
            && (mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF
            && share_nodes (part, other))
            *evicted = child_text (other->name);
    }
    return 0;
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

static int tell_job (const struct request *rq, void *answer)
{
    struct controller_job *to = answer;
    const job_info_t *job = NULL;
    uint32_t id, task, state;
    job_info_msg_t *msg;
    bool array;

    if (!parse_job (rq->arg, &id, &task, &array))
        return 0;
    if (slurm_load_job (&msg, slurmapi_job (id), SHOW_ALL) != SLURM_SUCCESS)
        return errno == ESLURM_INVALID_JOB_ID ? 0 : slurm_error (rq);
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const job_info_t *j = &msg->job_array[i];

        if (array ? j->array_job_id == id && j->array_task_id == task
                  : j->slurmapi_job_id == id)
            job = j;
    }
    if (!job)
        return 0;
    state = job->job_state & JOB_STATE_BASE;
    *to = (struct controller_job){
        .id = job->slurmapi_job_id, .uid = job->user_id,
        .state = state == JOB_PENDING                       ? "pending"
                 : state == JOB_SUSPENDED                   ? "suspended"
                 : state > JOB_SUSPENDED
                         || job->job_state & JOB_COMPLETING ? "ended"
                 : job->job_state & JOB_CONFIGURING         ? "starting"
                                                            : "running",
        .count = job->num_nodes, .nodes = child_text (job->nodes),
        .comment = child_text (job->comment), .het = job->het_job_id != 0,
    };
    controller_user_name (to->user, job->user_id);
    return 0;
}

/* An int: the number of jobs. */
static int cancel_jobs (const struct request *rq, void *answer)
{
    job_info_msg_t *jobs;
    int *n = answer;

    if (slurm_load_job_user (&jobs, geteuid (), SHOW_ALL) != SLURM_SUCCESS)
        return slurm_error (rq);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *job = &jobs->job_array[i];

        if ((job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED || !job->name
            || strcmp (job->name, rq->arg))
            continue;
        if (slurm_kill_job (slurmapi_job (job->slurmapi_job_id), SIGKILL, 0)
                != SLURM_SUCCESS
            && errno != ESLURM_ALREADY_DONE)
            return slurm_error (rq);
        ++*n;
    }
    return 0;
}

struct slurm_user {
    uid_t uid;
    char name[CONTROLLER_NAME];
};

static int tell_user (const struct request *rq, void *answer)
{
    struct slurm_user *user = answer;

    user->uid = rq->conf->slurm_user_id;
    controller_user_name (user->name, user->uid);
    return 0;
}

struct controller_conf {
    size_t n;
    struct conf_line {
        const char *key, *value; /* NULL: none */
    } *line;
};

/* From lines "NAME   = VALUE". */
static int tell_conf (const struct request *rq, void *answer)
{
    struct controller_conf *conf = answer;
    char *text = NULL, *line;
    size_t len, lines = 0;
    FILE *fp = xcheck (open_memstream (&text, &len));

    slurm_print_ctl_conf (fp, rq->conf);
    xcheck (fclose (fp) == 0 ? text : NULL);
    for (char *s = text; *s; s++)
        lines += *s == '\n';
    conf->line = child_alloc (lines + 1, sizeof (*conf->line));
    while ((line = strsep (&text, "\n"))) {
        char *equals = strstr (line, " = ");
        const char *value = equals ? equals + 3 : NULL;

        if (!equals)
            continue;
        while (equals > line && equals[-1] == ' ')
            equals--;
        *equals = '\0';
        conf->line[conf->n++] = (struct conf_line){
            .key = child_text (text_clean (line)),
            .value = child_text (strcmp (value, "(null)") ? value : NULL),
        };
    }
    return 0;
}

static int tell_partition (const struct request *rq, void *answer)
{
    const partition_info_t *part = find_partition (rq);
    struct controller_partition *to = answer;
    void *members;

    if (!part)
        return 0;
    *to = (struct controller_partition){
        .exists = true, .up = part->state_up == PARTITION_UP,
        .open = !(part->flags & PART_FLAG_ROOT_ONLY), .minutes = part->max_time,
        .inside = start_names (rq), .outside = start_names (rq),
    };
    members = xcheck (slurm_hostlist_create (part->nodes));
    for (uint32_t i = 0; i < rq->nodes->record_count; i++) {
        const char *name = rq->nodes->node_array[i].name;

        if (name)
            put_name (slurm_hostlist_find (members, name) < 0 ? &to->outside
                                                              : &to->inside,
                      name);
    }
    sort_array (to->inside.name, to->inside.count, compare_strings);
    sort_array (to->outside.name, to->outside.count, compare_strings);
    return 0;
}

/* An int: the number of associations. */
static int tell_associations (const struct request *rq, void *answer)
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
        return slurm_error (rq);
    *(int *)answer = slurm_list_count (found);
    return 0;
}

/*
 * In the caller
 */

static void *ask_slurmctld (const struct request *rq, struct error *err)
{
    void *answer
        = child_call (run_request, rq, rq->size, CONTROLLER_WAIT_MS, err);

    if (!answer)
        error_prefix (err, "slurmctld");
    return answer;
}

#define REQUEST(type, run_, needs_, arg_)                                     \
    (&(const struct request){ .run = run_, .size = sizeof (type),             \
                              .needs = needs_, .arg = arg_ })

/* An answer that is one number. Return it, or -1 with err. */
static int ask_number (const struct request *rq, struct error *err)
{
    int *answer = ask_slurmctld (rq, err);
    int n = answer ? *answer : -1;

    child_free (answer);
    return n;
}

/* An answer that is a list of names; the result is sorted. */
static int ask_names (struct hostlist *hl, const struct request *rq,
                      struct error *err)
{
    struct hostlist *names = ask_slurmctld (rq, err);

    *hl = (struct hostlist){ 0 };
    if (!names)
        return -1;
    hl->name = xarray (names->count, sizeof (*hl->name));
    for (size_t i = 0; i < names->count; i++)
        hl->name[i] = xstrdup (names->name[i]);
    hl->count = text_unique ((const char **)hl->name, names->count);
    child_free (names);
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
    struct controller_nodes *answer = ask_slurmctld (
        REQUEST (struct controller_nodes, tell_nodes, NEEDS_NODES, NULL), err);

    *nodes = answer ? *answer : (struct controller_nodes){ 0 };
    nodes->answer = answer;
    return answer ? 0 : -1;
}

static int change (const char *node, const char *reason, bool resume,
                   struct error *err)
{
    if (!text_is_hostname (node) || !*reason)
        return error_input (err, "node '%s' or its Reason is not valid", node);
    return ask_number (&(const struct request){ .run = change_node,
                                                .size = sizeof (int),
                                                .arg = node, .reason = reason,
                                                .resume = resume }, err);
}

int controller_drain (const char *node, const char *reason, struct error *err)
{
    return change (node, reason, false, err);
}

int controller_resume (const char *node, const char *reason, struct error *err)
{
    return change (node, reason, true, err);
}

int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err)
{
    return ask_names (hl,
                      REQUEST (struct hostlist, tell_idle,
                               NEEDS_PARTITIONS | NEEDS_NODES, partition),
                      err);
}

int controller_drained (struct hostlist *hl, struct error *err)
{
    return ask_names (
        hl, REQUEST (struct hostlist, tell_idle, NEEDS_NODES, NULL), err);
}

int controller_evicts (const char *partition, struct error *err)
{
    char **other = ask_slurmctld (
        REQUEST (char *, tell_evicted, NEEDS_CONF | NEEDS_PARTITIONS, partition),
        err);
    int rc = other ? *other != NULL : -1;

    if (rc == 1)
        error_input (err, "jobs in partition %.60s would preempt those in "
                          "%.60s: give it no higher PriorityTier", partition,
                     *other);
    child_free (other);
    return rc;
}

struct controller_job *controller_job (const char *job, struct error *err)
{
    return ask_slurmctld (REQUEST (struct controller_job, tell_job, 0, job),
                          err);
}

int controller_cancel (const char *job_name, struct error *err)
{
    return ask_number (REQUEST (int, cancel_jobs, 0, job_name), err);
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME], struct error *err)
{
    struct slurm_user *user = ask_slurmctld (
        REQUEST (struct slurm_user, tell_user, NEEDS_CONF, NULL), err);

    if (!user)
        return -1;
    *uid = user->uid;
    strcpy (name, user->name);
    child_free (user);
    return 0;
}

struct controller_conf *controller_conf (struct error *err)
{
    return ask_slurmctld (
        REQUEST (struct controller_conf, tell_conf, NEEDS_CONF, NULL), err);
}

const char *controller_value (const struct controller_conf *conf,
                              const char *key)
{
    size_t len = strlen (key);

    for (size_t i = 0; conf && i < conf->n; i++) {
        const struct conf_line *l = &conf->line[i];

        if (!strncmp (l->key, key, len)
            && (!l->key[len] || !strcmp (l->key + len, "[0]")))
            return l->value ? l->value : "";
    }
    return "";
}

struct controller_partition *controller_partition (const char *name,
                                                   struct error *err)
{
    return ask_slurmctld (REQUEST (struct controller_partition, tell_partition,
                                   NEEDS_PARTITIONS | NEEDS_NODES, name),
                          err);
}

int controller_associated (const char *user, struct error *err)
{
    int n = ask_number (REQUEST (int, tell_associations, NEEDS_CONF, user),
                        err);

    return n < 0 ? -1 : n > 0;
}
