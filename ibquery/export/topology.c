/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Hosts of several rails are at several leaves. Leaves that have about the same
 * hosts are a pod: two are united if most hosts of each are at the other, then
 * one whose hosts are mostly at another, as if a rail of those there were
 * missing. That is not done where it is one of several with the same claim: a
 * leaf of storage has the hosts of many leaves, which are not a pod. All counts
 * are of hosts, so that one with a wrong cable, or cabled to two leaves, unites
 * nothing.
 *
 * Switches are united level by level, from the leaves upwards. At each level,
 * groups that became connected get a new group above them.
 */
#include "config.h"
#include "ibquery/export/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sets.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    NAME = FABRIC_NAME_MAX + 24,
    GUID_DIGITS = 16,
    CLEAN_MAX = 47, /* Slurm takes 64, and a GUID may follow */
    RAILS_MAX = 64, /* leaves of a host; others are ignored */
};

/* A pod with its hosts, most often of one leaf; or a group of pods and groups.
 */
struct tree_item {
    char *name;
    uint32_t node;    /* a switch in it; a pod's is the least */
    uint32_t parent;  /* item; FABRIC_NONE */
    uint8_t level;
    bool leaf;
    size_t nhosts;
};

struct topology {
    const struct fabric *f;
    struct pool *pool; /* of all of this, and of what is printed */
    struct topology_choice *choice;
    uint32_t *pod;    /* by leaf: its parent in the set of its pod's leaves */
    uint32_t *up;     /* by node: its parent in its set (util/sets) */
    uint32_t *place;  /* by host: its pod; FABRIC_NONE: left out */
    const char **name; /* by host: what Slurm calls it */
    const char *domain; /* ... of the first that is called without; NULL */
    bool *split;      /* by host: it is at several pods */
    struct tree_item *item;
    size_t nitems;
    uint32_t *scratch; /* by node */
    uint32_t *votes;  /* by pod: ports there of a host, else 0 */
    uint8_t top;      /* the highest level */
    const char *rail; /* by which hosts at several pods are placed; NULL */
    size_t npods, nplanes, ncrossings;
    uint32_t crossing; /* a cable between leaves */
};

/* Whether both ends of a cable are switches. */
static bool joins (const struct fabric *f, const struct fabric_link *l,
                   uint32_t *a, uint32_t *b)
{
    *a = f->port[l->a].node;
    *b = f->port[l->b].node;
    return f->node[*a].type == NODE_SWITCH && f->node[*b].type == NODE_SWITCH;
}

/* Unite the switches that are joined by cables whose higher end is of a level
 * from `low` to `high`.
 */
static void unite_levels (struct topology *t, unsigned int low,
                          unsigned int high)
{
    for (size_t i = 0; i < t->f->nlinks; i++) {
        uint32_t a, b;

        if (joins (t->f, &t->f->link[i], &a, &b)) {
            unsigned int x = t->f->node[a].level, y = t->f->node[b].level;
            unsigned int higher = x > y ? x : y;

            if (x > 0 && y > 0 && higher >= low && higher <= high)
                sets_unite (t->up, a, b);
        }
    }
}

/* Each switch is a set of its own. */
static void part (const struct topology *t, uint32_t *up)
{
    for (size_t i = 0; i < t->f->nnodes; i++)
        up[i] = i;
}

/* Each pod is a set. */
static void part_pods (struct topology *t)
{
    part (t, t->up);
    for (size_t i = 0; i < t->f->nnodes; i++)
        sets_unite (t->up, i, sets_find (t->pod, i));
}

/*
 * Pods
 */

/* The pod of an endpoint's switch; FABRIC_NONE if there is none, or if the
 * endpoint is not to be used.
 */
static uint32_t pod_of (const struct topology *t, uint32_t endpoint)
{
    const struct fabric *f = t->f;
    uint32_t far = fabric_far_port (f, f->endpoint[endpoint].port);
    uint32_t node = f->port[far].node;

    if (t->choice->use && !t->choice->use[endpoint])
        return FABRIC_NONE;
    return f->node[node].type == NODE_SWITCH ? sets_find (t->pod, node)
                                             : FABRIC_NONE;
}

static bool is_guid (const char *name)
{
    return strlen (name) == GUID_DIGITS
           && strspn (name, "0123456789abcdef") == GUID_DIGITS;
}

/* Whether a host is to be placed. */
static bool is_host_selected (const struct topology *t, uint32_t host)
{
    return (!t->choice->host || t->choice->host[host])
           && !is_guid (t->f->host[host].name);
}

/* The pods that a host is at, each once, with their votes, until retract_votes.
 * Return how many; 0 for a host that is not wanted. Those after RAILS_MAX are
 * none.
 */
static size_t vote (const struct topology *t, uint32_t host,
                    uint32_t pod[RAILS_MAX])
{
    const struct fabric_host *h = &t->f->host[host];
    size_t n = 0;

    if (!is_host_selected (t, host))
        return 0;
    for (uint32_t e = h->first; e < h->first + h->count; e++) {
        uint32_t p = pod_of (t, e);

        if (p == FABRIC_NONE || (t->votes[p] == 0 && n == RAILS_MAX))
            continue;
        if (t->votes[p]++ == 0)
            pod[n++] = p;
    }
    return n;
}

static void retract_votes (const struct topology *t, const uint32_t *pod,
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->votes[pod[i]] = 0;
}

/* Two pods, and how many hosts are at both. */
struct shared {
    uint32_t a, b;
    size_t n;
};

static int compare_shared (const void *x, const void *y)
{
    const struct shared *p = x, *q = y;
    int order = util_compare (p->a, q->a);

    return order != 0 ? order : util_compare (p->b, q->b);
}

/* Find the pods that share hosts; scratch[pod] is how many hosts a pod has. */
static size_t find_shared (const struct topology *t, struct shared **shared)
{
    struct shared *v = NULL;
    size_t n = 0, kept = 0;

    memset (t->scratch, 0, t->f->nnodes * sizeof (*t->scratch));
    for (size_t h = 0; h < t->f->nhosts; h++) {
        uint32_t pod[RAILS_MAX];
        size_t npods = vote (t, h, pod);

        retract_votes (t, pod, npods);
        qsort (pod, npods, sizeof (*pod), compare_u32);
        for (size_t i = 0; i < npods; i++) {
            t->scratch[pod[i]]++;
            for (size_t k = i + 1; k < npods; k++) {
                v = pool_grow (t->pool, v, n, sizeof (*v));
                v[n++] = (struct shared){ pod[i], pod[k], 1 };
            }
        }
    }
    if (n > 0)
        qsort (v, n, sizeof (*v), compare_shared);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && compare_shared (&v[kept - 1], &v[i]) == 0)
            v[kept - 1].n++;
        else
            v[kept++] = v[i];
    *shared = v;
    return kept;
}

/* Unite leaves if most hosts of each are at the other one. */
static void unite_alike (struct topology *t)
{
    struct shared *s;
    size_t n = find_shared (t, &s);

    for (size_t i = 0; i < n; i++)
        if (2 * s[i].n > t->scratch[s[i].a] && 2 * s[i].n > t->scratch[s[i].b])
            sets_unite (t->pod, s[i].a, s[i].b);
}

/* Unite a pod with the only one at which most of its hosts are, if that one has
 * no other such part.
 */
static void unite_parts (struct topology *t)
{
    struct shared *s;
    size_t n = find_shared (t, &s), kept = 0;
    uint32_t *wholes = pool_alloc (t->pool, t->f->nnodes, sizeof (*wholes));
    uint32_t *parts = pool_alloc (t->pool, t->f->nnodes, sizeof (*parts));

    for (size_t i = 0; i < n; i++) {
        bool swap = t->scratch[s[i].a] > t->scratch[s[i].b];
        uint32_t part = swap ? s[i].b : s[i].a;
        uint32_t whole = swap ? s[i].a : s[i].b;

        if (2 * s[i].n <= t->scratch[part])
            continue;
        s[kept++] = (struct shared){ part, whole, s[i].n };
        wholes[part]++;
        parts[whole]++;
    }
    for (size_t i = 0; i < kept; i++)
        if (wholes[s[i].a] == 1 && parts[s[i].b] == 1)
            sets_unite (t->pod, s[i].a, s[i].b);
}

/* Take pods apart that have fewer hosts of their own than hosts that have as
 * many ports elsewhere: by no rule is a host in one pod.
 */
static void split_mixed_pods (struct topology *t)
{
    size_t n = t->f->nnodes;
    uint32_t *own = pool_alloc (t->pool, n, sizeof (*own));
    uint32_t *others = pool_alloc (t->pool, n, sizeof (*others));

    for (size_t h = 0; h < t->f->nhosts; h++) {
        uint32_t pod[RAILS_MAX];
        size_t npods = vote (t, h, pod), ports = 0;

        for (size_t i = 0; i < npods; i++)
            ports += t->votes[pod[i]];
        for (size_t i = 0; i < npods; i++)
            (2 * t->votes[pod[i]] > ports ? own : others)[pod[i]]++;
        retract_votes (t, pod, npods);
    }
    for (size_t i = 0; i < n; i++)
        t->scratch[i] = sets_find (t->pod, i);
    for (size_t i = 0; i < n; i++)
        if (others[t->scratch[i]] > own[t->scratch[i]])
            t->pod[i] = i;
}

/*
 * Hosts
 */

/* The planes: what is joined by cables or pods. scratch[plane] is how many
 * endpoints it has.
 */
static void find_planes (struct topology *t)
{
    part_pods (t);
    unite_levels (t, 1, UINT8_MAX);
    memset (t->scratch, 0, t->f->nnodes * sizeof (*t->scratch));
    for (size_t e = 0; e < t->f->nendpoints; e++) {
        uint32_t pod = pod_of (t, e);

        if (pod != FABRIC_NONE && t->scratch[sets_find (t->up, pod)]++ == 0)
            t->nplanes++;
    }
}

/* Negative if a host is to be placed in pod a rather than in b, 0 if both are
 * as good: that of the plane with more endpoints, then of more of its ports.
 */
static int compare_pods (const struct topology *t, uint32_t a, uint32_t b)
{
    uint32_t x = sets_find (t->up, a), y = sets_find (t->up, b);

    if (x != y)
        return t->scratch[x] != t->scratch[y]
                   ? util_compare (t->scratch[y], t->scratch[x])
                   : util_compare (x, y);
    return util_compare (t->votes[b], t->votes[a]);
}

/* Keep the best of n pods, the least first. Return how many are left. */
static size_t keep_best (const struct topology *t, uint32_t *pod, size_t n)
{
    size_t kept = 0;

    qsort (pod, n, sizeof (*pod), compare_u32);
    for (size_t i = 0; i < n; i++) {
        int order = kept > 0 ? compare_pods (t, pod[i], pod[0]) : -1;

        if (order < 0)
            kept = 0;
        if (order <= 0)
            pod[kept++] = pod[i];
    }
    return kept;
}

/* The best pods of a host. */
static size_t best_pods (const struct topology *t, uint32_t host,
                         uint32_t pod[RAILS_MAX])
{
    uint32_t all[RAILS_MAX];
    size_t n = vote (t, host, all), kept;

    memcpy (pod, all, n * sizeof (*pod));
    kept = keep_best (t, pod, n);
    retract_votes (t, all, n);
    return kept;
}

/* The rail that most hosts have that several pods would suit. */
static const char *choose_rail (const struct topology *t)
{
    const struct fabric *f = t->f;
    const char **rail = pool_alloc (t->pool, f->nendpoints, sizeof (*rail));
    const char *best = NULL;
    size_t n = 0, most = 0;

    for (size_t h = 0; h < f->nhosts; h++) {
        uint32_t pod[RAILS_MAX];

        if (best_pods (t, h, pod) < 2)
            continue;
        for (uint32_t i = 0; i < f->host[h].count; i++) {
            uint32_t e = f->host[h].first + i;

            if (f->endpoint[e].rail && pod_of (t, e) != FABRIC_NONE)
                rail[n++] = f->endpoint[e].rail;
        }
    }
    if (n > 0)
        qsort (rail, n, sizeof (*rail), compare_strings);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp (rail[end], rail[i]);)
            end++;
        if (end - i > most) {
            most = end - i;
            best = rail[i];
        }
    }
    return best;
}

/* That of a host's best pods at which it has the rail, or else the least. */
static uint32_t choose_pod (const struct topology *t, uint32_t host,
                            const uint32_t *pod, size_t n)
{
    const struct fabric_host *h = &t->f->host[host];

    for (uint32_t e = h->first; e < h->first + h->count && n > 1; e++) {
        const char *rail = t->f->endpoint[e].rail;

        if (!rail || !t->rail || strcmp (rail, t->rail) != 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (pod_of (t, e) == pod[i])
                return pod[i];
    }
    return n > 0 ? pod[0] : FABRIC_NONE;
}

static void place_hosts (struct topology *t)
{
    part (t, t->pod);
    unite_alike (t);
    unite_parts (t);
    split_mixed_pods (t);
    find_planes (t);
    t->rail = choose_rail (t);
    for (size_t h = 0; h < t->f->nhosts; h++) {
        uint32_t pod[RAILS_MAX];
        size_t n = vote (t, h, pod);

        t->split[h] = n > 1;
        retract_votes (t, pod, n);
        n = best_pods (t, h, pod);
        t->place[h] = choose_pod (t, h, pod, n);
    }
}

/*
 * The tree
 */

/* The description of a switch, in characters that Slurm accepts. */
static void clean_name (const struct fabric_node *n, char name[NAME])
{
    const char *start = strchr (n->desc, ';'); /* "MF0;leaf1:MQM8700/U1" */
    char text[FABRIC_NAME_MAX + 1];
    size_t len;

    snprintf (text, sizeof (text), "%s", start ? start + 1 : n->desc);
    for (char *p = text; *p; p++)
        if (!strchr ("0123456789abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.",
                     *p))
            *p = '-';
    snprintf (name, CLEAN_MAX + 1, "%s", text + strspn (text, "-."));
    for (len = strlen (name); len > 0 && name[len - 1] == '-'; len--)
        name[len - 1] = '\0';
    if (!*name)
        snprintf (name, NAME, "switch-%016" PRIx64, n->guid);
}

static struct tree_item *add_item (struct topology *t, uint32_t node,
                                   uint8_t level, bool leaf, const char *name)
{
    struct tree_item *item = &t->item[t->nitems++];

    *item = (struct tree_item){
        
        .name = pool_strdup (t->pool, name), .node = node, .parent = FABRIC_NONE,
        .level = level, .leaf = leaf,
    };
    return item;
}

/* Add the leaves and pods of a level, by their first hosts. */
static void add_pods (struct topology *t, uint8_t level)
{
    uint32_t *leaves = pool_alloc (t->pool, t->f->nnodes, /* by pod */
                                   sizeof (*leaves));

    memset (t->scratch, 0, t->f->nnodes * sizeof (*t->scratch));
    for (size_t i = 0; i < t->f->nhosts; i++)
        if (t->place[i] != FABRIC_NONE)
            t->scratch[t->place[i]]++;
    for (size_t i = 0; i < t->f->nnodes; i++)
        leaves[sets_find (t->pod, i)]++;
    for (size_t i = 0; i < t->f->nhosts; i++) {
        uint32_t at = t->place[i];
        char name[NAME];

        if (at == FABRIC_NONE || t->scratch[at] == 0
            || t->f->node[at].level != level)
            continue;
        if (leaves[at] > 1)
            snprintf (name, NAME, "pod-%zu", ++t->npods);
        else
            clean_name (&t->f->node[at], name);
        add_item (t, at, level, true, name)->nhosts = t->scratch[at];
        t->scratch[at] = 0;
    }
}

/* Add a group for each set of items that this level connected. */
static void add_groups (struct topology *t, uint8_t level)
{
    size_t before = t->nitems, number = 0;
    uint32_t *group = t->scratch; /* by set: item count, then the new item */

    unite_levels (t, level, level);
    memset (group, 0, t->f->nnodes * sizeof (*group));
    for (size_t i = 0; i < before; i++)
        if (t->item[i].parent == FABRIC_NONE)
            group[sets_find (t->up, t->item[i].node)]++;
    for (size_t i = 0; i < t->f->nnodes; i++) {
        char name[NAME];

        if (group[i] >= 2)
            snprintf (name, NAME, "level%u-%zu", level, ++number);
        group[i] = group[i] >= 2
                       ? add_item (t, i, level, false, name) - t->item
                       : FABRIC_NONE;
    }
    for (size_t i = 0; i < before; i++) {
        uint32_t parent = group[sets_find (t->up, t->item[i].node)];

        if (t->item[i].parent != FABRIC_NONE || parent == FABRIC_NONE)
            continue;
        t->item[i].parent = parent;
        t->item[parent].nhosts += t->item[i].nhosts;
    }
}

static void make_names_unique (struct topology *t)
{
    char **name = pool_alloc (t->pool, t->nitems, sizeof (*name));
    uint32_t *node = pool_alloc (t->pool, t->nitems, sizeof (*node));

    for (size_t i = 0; i < t->nitems; i++) {
        name[i] = t->item[i].name;
        node[i] = t->item[i].node;
    }
    fabric_tell_apart (t->f, t->pool, name, node, t->nitems);
    for (size_t i = 0; i < t->nitems; i++)
        t->item[i].name = name[i];
}

static int build_topology (struct topology *t, struct error *err)
{
    const struct fabric *f = t->f;

    place_hosts (t);
    part_pods (t);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].level > t->top)
            t->top = f->node[i].level;
    for (unsigned int level = 1; level <= t->top; level++) {
        add_pods (t, level);
        add_groups (t, level);
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        uint32_t a, b;

        if (joins (f, &f->link[i], &a, &b) && f->node[a].level == 1
            && f->node[b].level == 1 && t->ncrossings++ == 0)
            t->crossing = i;
    }
    if (t->nitems == 0)
        return error_input (err, "the fabric has no hosts that have names");
    make_names_unique (t);
    return 0;
}

/*
 * The file
 */

static void put_sizes (const struct topology *t, unsigned int level, bool leaf,
                       FILE *fp)
{
    size_t n = 0, least = SIZE_MAX, most = 0;

    for (size_t i = 0; i < t->nitems; i++) {
        const struct tree_item *item = &t->item[i];

        if (item->leaf != leaf || (!leaf && item->level != level))
            continue;
        n++;
        least = item->nhosts < least ? item->nhosts : least;
        most = item->nhosts > most ? item->nhosts : most;
    }
    if (n == 0)
        return;
    if (leaf && t->npods > 0)
        fprintf (fp, "# %s", COUNTED (n, "pod"));
    else if (leaf)
        fprintf (fp, "# %zu %s", n, n == 1 ? "leaf" : "leaves");
    else
        fprintf (fp, "# %s of level %u", COUNTED (n, "group"), level);
    if (least < most)
        fprintf (fp, " of %zu to", least);
    else
        fprintf (fp, " of");
    fprintf (fp, " %s\n", COUNTED (most, "host"));
}

static char *fold_names (const struct topology *t, const char *const *name,
                         size_t n)
{
    return pool_keep (t->pool, hostlist_fold (name, n), free);
}

/* The leaves of a pod; "" if it is the only one. */
static char *leaves_of (const struct topology *t, uint32_t pod)
{
    const struct fabric *f = t->f;
    uint32_t *leaf = pool_alloc (t->pool, f->nnodes, sizeof (*leaf));
    char **name = pool_alloc (t->pool, f->nnodes, sizeof (*name));
    size_t n = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        char clean[NAME];

        if (sets_find (t->pod, i) != pod)
            continue;
        clean_name (&f->node[i], clean);
        name[n] = pool_strdup (t->pool, clean);
        leaf[n++] = i;
    }
    fabric_tell_apart (f, t->pool, name, leaf, n);
    return fold_names (t, (const char *const *)name, n > 1 ? n : 0);
}

static void put_pods (const struct topology *t, FILE *fp)
{
    for (size_t i = 0; i < t->nitems && t->npods > 0; i++)
        if (t->item[i].leaf) {
            char *leaves = leaves_of (t, t->item[i].node);

            if (*leaves)
                fprintf (fp, "# %s: %s\n", t->item[i].name, leaves);
        }
}

/* The names of those hosts of which `is` says so, folded; NULL: none. */
static char *fold_hosts (const struct topology *t,
                         bool (*is) (const struct topology *t, size_t host))
{
    const char **v = pool_alloc (t->pool, t->f->nhosts, sizeof (*v));
    size_t n = 0;

    for (size_t i = 0; i < t->f->nhosts; i++)
        if (is (t, i))
            v[n++] = t->name[i];
    return n > 0 ? fold_names (t, v, n) : NULL;
}

/* The hosts that were to be placed and are not: those whose names are GUIDs, */
static bool is_nameless (const struct topology *t, size_t host)
{
    return (!t->choice->host || t->choice->host[host])
           && is_guid (t->f->host[host].name);
}

/* ... and the others. */
static bool is_left_out (const struct topology *t, size_t host)
{
    return t->place[host] == FABRIC_NONE && is_host_selected (t, host);
}

static bool is_split (const struct topology *t, size_t host)
{
    return t->split[host];
}

static void put_left_out (const struct topology *t, FILE *fp)
{
    char *guids = fold_hosts (t, is_nameless);
    char *others = fold_hosts (t, is_left_out);

    t->choice->left_out = others ? xstrdup (others) : NULL;
    if (guids)
        fprintf (fp, "# Left out, as they do not tell their host's name: "
                     "adapters %s\n", guids);
    if (others)
        fprintf (fp, "# Left out, as no port of theirs that counts is at a "
                     "switch: %s\n", others);
}

static void put_notes (const struct topology *t, FILE *fp)
{
    const struct fabric_link *l = &t->f->link[t->crossing];
    char *split = fold_hosts (t, is_split);

    put_pods (t, fp);
    put_left_out (t, fp);
    if (t->domain)
        fprintf (fp, "# Hosts are called without their domain (%s), as nodes "
                     "of Slurm are.\n", t->domain);
    if (split)
        fprintf (fp, "# Cabled to several of these, and placed where most "
                     "ports are%s%s: %s\n", t->rail ? ", else by " : "",
                 t->rail ? t->rail : "", split);
    if (t->nplanes > 1)
        fprintf (fp, "# %zu fabrics are not joined: hosts that are in several "
                     "are placed in the greatest.\n", t->nplanes);
    if (t->ncrossings == 0)
        return;
    fprintf (fp, "# This fabric is not a tree: leaves are joined to each other "
                 "by %s (%s - %s).\n# Leaves are grouped by them; within a "
                 "group, Slurm takes all to be equally far.\n# For a "
                 "dragonfly, TopologyParam=Dragonfly may place jobs better.\n",
             COUNTED (t->ncrossings, "cable"), PORT_NAME (t->f, l->a),
             PORT_NAME (t->f, l->b));
}

/* The folded list of an item's hosts, or of its children. */
static char *item_members (const struct topology *t, uint32_t item)
{
    bool leaf = t->item[item].leaf;
    size_t n = leaf ? t->f->nhosts : t->nitems, found = 0;
    const char **v = pool_alloc (t->pool, n, sizeof (*v));

    for (size_t i = 0; i < n; i++)
        if (leaf && t->place[i] == t->item[item].node)
            v[found++] = t->name[i];
        else if (!leaf && t->item[i].parent == item)
            v[found++] = t->item[i].name;
    return fold_names (t, v, found);
}

/* The items, leaves first. */
static void put_items (const struct topology *t, bool yaml, FILE *fp)
{
    for (int leaf = 1; leaf >= 0; leaf--)
        for (size_t i = 0; i < t->nitems; i++) {
            char *folded;

            if (t->item[i].leaf != leaf)
                continue;
            folded = item_members (t, i);
            if (yaml)
                fprintf (fp, "      - switch: \"%s\"\n        %s: \"%s\"\n",
                         t->item[i].name, leaf ? "nodes" : "children", folded);
            else
                fprintf (fp, "SwitchName=%s %s=%s\n", t->item[i].name,
                         leaf ? "Nodes" : "Switches", folded);
        }
}

static void put_comments (const struct topology *t, FILE *fp)
{
    fprintf (fp, "# Take out nodes that Slurm does not have, and add those "
                 "that are missing.\n");
    put_sizes (t, 0, true, fp);
    for (unsigned int level = 1; level <= t->top; level++)
        put_sizes (t, level, false, fp);
    put_notes (t, fp);
}

static void put_conf (const struct topology *t, FILE *fp)
{
    fprintf (fp, "# topology.conf for TopologyPlugin=topology/tree, as fabric "
                 "%.8s suggests.\n", t->f->hash);
    put_comments (t, fp);
    put_items (t, false, fp);
}

/*
 * Blocks: pods of about the same size, those of a group one after another.
 */

struct blocks {
    uint32_t *leaf;   /* items */
    size_t n;
    const char **small; /* hosts of leaves that are none */
    size_t nsmall;
    size_t base;      /* hosts of the smallest */
};

static void add_small (const struct topology *t, uint32_t pod,
                       struct blocks *b)
{
    for (size_t i = 0; i < t->f->nhosts; i++)
        if (t->place[i] == pod)
            b->small[b->nsmall++] = t->name[i];
}

static void add_blocks (const struct topology *t, uint32_t parent,
                        size_t least, struct blocks *b)
{
    for (uint32_t i = 0; i < t->nitems; i++) {
        const struct tree_item *item = &t->item[i];

        if (item->parent != parent)
            continue;
        if (!item->leaf)
            add_blocks (t, i, least, b);
        else if (item->nhosts < least)
            add_small (t, item->node, b);
        else {
            b->leaf[b->n++] = i;
            if (b->base == 0 || item->nhosts < b->base)
                b->base = item->nhosts;
        }
    }
}

/* The group of this level that has a leaf; FABRIC_NONE if none has. */
static uint32_t leaf_group (const struct topology *t, uint32_t leaf,
                            unsigned int level)
{
    uint32_t i = t->item[leaf].parent;

    while (i != FABRIC_NONE && t->item[i].level < level)
        i = t->item[i].parent;
    return i != FABRIC_NONE && t->item[i].level == level ? i : FABRIC_NONE;
}

/* How many blocks each of two and more groups of a level has; 0: there are no
 * such groups, or they have different numbers.
 */
static size_t blocks_of_group (const struct topology *t,
                               const struct blocks *b, unsigned int level)
{
    uint32_t first = b->n > 0 ? leaf_group (t, b->leaf[0], level) : FABRIC_NONE;
    size_t each = 0;

    while (each < b->n && leaf_group (t, b->leaf[each], level) == first)
        each++;
    if (first == FABRIC_NONE || each == b->n || b->n % each != 0)
        return 0;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t group = leaf_group (t, b->leaf[i], level);

        if (group == FABRIC_NONE
            || (i > 0
                && (group != leaf_group (t, b->leaf[i - 1], level))
                       != (i % each == 0)))
            return 0;
    }
    return each;
}

static void put_blocks (const struct topology *t, FILE *fp)
{
    struct blocks b = {
        .leaf = pool_alloc (t->pool, t->nitems, sizeof (*b.leaf)),
        .small = pool_alloc (t->pool, t->f->nhosts, sizeof (*b.small)),
    };
    size_t most = 0, above = 1;

    for (size_t i = 0; i < t->nitems; i++)
        if (t->item[i].leaf && t->item[i].nhosts > most)
            most = t->item[i].nhosts;
    add_blocks (t, FABRIC_NONE, (most + 1) / 2, &b);
    if (b.nsmall > 0)
        fprintf (fp, "# In no block, as few hosts are together: %s\n",
                 fold_names (t, b.small, b.nsmall));
    fprintf (fp, "- topology: block\n  cluster_default: false\n  block:\n"
                 "    block_sizes:\n      - %zu\n", b.base);
    for (unsigned int level = 1; level <= t->top; level++) {
        size_t each = blocks_of_group (t, &b, level);

        if (each > above && (each & (each - 1)) == 0) {
            fprintf (fp, "      - %zu\n", b.base * each);
            above = each;
        }
    }
    fprintf (fp, "    blocks:\n");
    for (size_t i = 0; i < b.n; i++)
        fprintf (fp, "      - block: \"%s\"\n        nodes: \"%s\"\n",
                 t->item[b.leaf[i]].name, item_members (t, b.leaf[i]));
}

static void put_yaml (const struct topology *t, FILE *fp)
{
    fprintf (fp, "# topology.yaml for Slurm 25.05 and later, as fabric %.8s "
                 "suggests. Where it is,\n# Slurm ignores topology.conf. A "
                 "partition chooses the blocks by Topology=block.\n",
             t->f->hash);
    put_comments (t, fp);
    fprintf (fp, "- topology: tree\n  cluster_default: true\n  tree:\n"
                 "    switches:\n");
    put_items (t, true, fp);
    put_blocks (t, fp);
}

/* A host's name without its domain, if that is no other one's. */
static const char *short_name (const struct topology *t, uint32_t host)
{
    const char *name = t->f->host[host].name;
    char *first = pool_printf (t->pool, "%.*s", (int)strcspn (name, "."), name);
    uint32_t found;

    return strspn (first, "0123456789") != strlen (first)
                   && fabric_hosts_named (t->f, first, &found) == 1
                   && found == host
               ? first : name;
}

/* As they were chosen, else without their domains. */
static void name_hosts (struct topology *t)
{
    const char *const *chosen = t->choice->name;

    for (uint32_t h = 0; h < t->f->nhosts; h++) {
        const char *name = t->f->host[h].name, *dot = strchr (name, '.');

        t->name[h] = chosen && chosen[h] ? chosen[h] : short_name (t, h);
        if (dot && !strchr (t->name[h], '.') && !t->domain)
            t->domain = dot + 1;
    }
}

int topology_write (const struct fabric *f, struct topology_choice *choice,
                    bool yaml, FILE *fp, struct error *err)
{
    struct pool *p = pool_create ();
    struct topology t = {
        .f = f, .pool = p, .choice = choice,
        .pod = pool_alloc (p, f->nnodes, sizeof (*t.pod)),
        .up = pool_alloc (p, f->nnodes, sizeof (*t.up)),
        .place = pool_alloc (p, f->nhosts, sizeof (*t.place)),
        .item = pool_alloc (p, 2 * f->nnodes, sizeof (*t.item)),
        .name = pool_alloc (p, f->nhosts, sizeof (*t.name)),
        .split = pool_alloc (p, f->nhosts, sizeof (*t.split)),
        .scratch = pool_alloc (p, f->nnodes, sizeof (*t.scratch)),
        .votes = pool_alloc (p, f->nnodes, sizeof (*t.votes)),
    };
    int rc;

    name_hosts (&t);
    rc = f->part ? error_input (err, "a part of a fabric says nothing of the "
                                     "rest")
                 : build_topology (&t, err);
    if (rc == 0)
        (yaml ? put_yaml : put_conf) (&t, fp);
    pool_destroy (p);
    return rc;
}
