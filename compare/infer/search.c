/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The topology that explains latencies.
 *
 * The vertices of a level are grouped (twins), and each group gets a switch.
 * These switches, and vertices that are alone, are the next level. This ends
 * with fewer than three vertices, or when no twins remain (mesh). Every
 * decision uses means over many pairs, so one wrong value does no harm.
 *
 * The result depends on the threshold up to which lengths count as 0.
 * Thresholds are tried from the range of the values downwards, by factors of
 * STEP, until the models only get more edges. The chosen model describes the
 * values in the fewest digits (Rissanen, Automatica 14, 1978): each edge costs
 * the digits of a value, log (range / resolution), and those that name its two
 * vertices; each value costs its residual, log (noise / resolution). From that
 * model, edges that cost more than they explain are removed (prune).
 *
 * A model is only returned if noise leaves no doubt. Two neighbouring switches
 * are resolved if pairs of nodes across the edge between them are farther apart
 * than pairs at one of them by CLUSTER_APART times the noise of one value,
 * minus UNSURE standard errors of the edge: the noise over the root of the
 * number of pairs at the switch. Across a switch with fewer than two nodes, two
 * edges lie between. The residuals must be noise, too (rest).
 *
 * But values also scatter because cables differ. With little noise, the
 * shortest description then contains edges as short as these differences. So
 * if there is a doubt, models with no more edges are examined, the shortest
 * description first, as they were before pruning. The first one that puts the
 * values into classes is returned: no value is farther from the model than
 * SMALL of the least step, so each is nearer to its own class than to the next,
 * whatever the cause of the scatter. If there is none, the residuals of the
 * best model may have a pattern of at most SMALL of the least step.
 */
#include "config.h"
#include "compare/infer/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "compare/infer/steps.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/terminal.h"

enum {
    STEPS = 28,
    EDGES = 8,      /* per node: more edges are not worth a try */
    SETTLINGS = 3,  /* paths change as latencies do */
    MANY = 3,       /* consecutive models with too many edges: they split
                       noise */
};

#define STEP M_SQRT2
#define NOISES 4.0      /* the threshold for an edge is lower by this factor
                           than the one between nodes: many pairs determine an
                           edge */
#define SAME 1e-2       /* digits: on such a tie, the greater threshold wins */
#define RESOLUTION 1e-4 /* of the median: differences that do not count */
#define UNSURE 2.0
#define TOO_NOISY 0.05  /* of the median: this may hide anything */
#define HIDDEN 3.5      /* digits saved: noise does so once in 30 times */
#define SMALL 0.5       /* of the least step: nearer to 0 than to one step */

struct model_candidate {
    struct topology_model *model; /* NULL: already examined */
    double digits;
};

struct model_search {
    const struct infer_matrix *matrix;
    bool given;           /* the threshold is given */
    double median, range; /* of the n values */
    size_t n;
    struct model_candidate model[STEPS]; /* by falling threshold */
    size_t nmodels;
    double least;         /* digits */
    size_t edges;         /* of the model with that cost */
};

static void find_scale (struct model_search *s)
{
    const struct infer_matrix *m = s->matrix;
    double *v = xarray ((size_t)m->n * m->n, sizeof (*v));

    if ((s->n = infer_matrix_values (m, v)) > 0) {
        stats_sort (v, s->n);
        s->median = stats_quantile (v, s->n, 0.5);
        s->range = v[s->n - 1] - v[0];
    }
    free (v);
}

/* Group the nodes' level and all levels above it. */
static struct topology_model *group_all_levels (const struct infer_matrix *w,
                                                const struct infer_level *nodes,
                                                double zero)
{
    struct topology_model *m
        = topology_create (w->n, (const char *const *)w->label);
    struct infer_level *made = NULL, *next;
    const struct infer_level *l = nodes;

    while (l->n >= 3 && (next = level_next (l, zero, m))) {
        level_destroy (made);
        l = made = next;
    }
    level_mesh (l, zero, m);
    level_destroy (made);
    topology_normal (m, zero / NOISES);
    return m;
}

/* Returns the residual, as settle does. */
static double fit_all_lengths (struct topology_model *m,
                               const struct infer_matrix *w, double zero)
{
    double squares = INFINITY;

    for (int i = 0; i < SETTLINGS; i++) {
        squares = settle (m, w);
        topology_normal (m, zero);
    }
    return squares;
}

/* Digits (of base e) of an edge: which vertices it joins, and its latency. */
static double edge_cost (const struct model_search *s)
{
    return 2 * log (s->matrix->n)
           + log (fmax (s->range / (s->median * RESOLUTION), M_E));
}

/* Make the model for a threshold. Returns true if it has too many edges, or
 * more than twice those of the best model without being better.
 */
static bool try_zero (struct model_search *s, const struct infer_level *nodes,
                      double zero)
{
    struct topology_model *m = group_all_levels (s->matrix, nodes, zero);
    double squares, noise, digits;

    if (m->nedges > (size_t)EDGES * s->matrix->n) {
        topology_destroy (m);
        return true;
    }
    squares = fit_all_lengths (m, s->matrix, zero / NOISES);
    noise = sqrt (squares / (double)(m->dof ? m->dof : 1));
    digits = (double)s->n * log (fmax (noise / (s->median * RESOLUTION), 1))
             + (double)m->nedges * edge_cost (s);
    s->model[s->nmodels++] = (struct model_candidate){ m, digits };
    if (digits >= s->least - SAME)
        return m->nedges > 2 * s->edges;
    s->least = digits;
    s->edges = m->nedges;
    return false;
}

/* The model without the edges that noise added, unless the threshold is given.
 */
static struct topology_model *prune_model (const struct model_search *s,
                                           const struct topology_model *from)
{
    struct topology_model *m = topology_copy (from);
    double squares = s->given ? INFINITY : settle (m, s->matrix);

    if (isfinite (squares)) {
        prune (m, s->matrix, squares, edge_cost (s));
        topology_normal (m, 0);
        fit_all_lengths (m, s->matrix, 0);
    }
    return m;
}

/* The least apparent distance of two neighbouring switches, relative to the
 * one required, *needed: in standard deviations of one value. INFINITY if there
 * are no two.
 */
static double least_step (const struct topology_model *m, double *needed)
{
    uint32_t *nodes = xcalloc (m->nvertices, sizeof (*nodes));
    double least = INFINITY;

    *needed = 1;
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a < m->nnodes)
            nodes[m->edge[i].b]++;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        double few = fmin (nodes[e->a], nodes[e->b]);
        double n = few > 1 ? few : fmax (nodes[e->a], nodes[e->b]);
        double pairs = n * (n - 1) / 2;
        double ns = e->latency_ns * (few > 1 ? 1 : 2);
        double apart = CLUSTER_APART
                       - (pairs > 0 ? UNSURE / sqrt (pairs)
                          : n > 0   ? UNSURE
                                    : 0);

        if (e->a >= m->nnodes && ns / apart < least / *needed) {
            least = ns;
            *needed = apart;
        }
    }
    free (nodes);
    return least;
}

/* What a model must show, apart from steps that exceed its noise. */
enum proof {
    NOISE_OR_GAP, /* the residuals are noise, or values lie in classes */
    GAP,          /* values lie in classes */
    NO_STEP,      /* residuals are noise, or at most SMALL of a step on
                     average */
};

/* Whether a model shows it; err says why not. The noise of one value is
 * increased for few degrees of freedom (at least one): by the first term by
 * which Student's quantiles exceed the normal quantile CLUSTER_APART (Fisher,
 * Cornish, Technometrics 2, 1960).
 */
static bool is_model_clear (const struct model_search *s,
                            const struct topology_model *m, enum proof proof,
                            struct error *err)
{
    double z = CLUSTER_APART, needed, least = least_step (m, &needed);
    double noise = m->noise_ns * (1 + (z * z + 1) / (4.0 * (double)m->dof));
    struct rest rest = { 0 };
    double left;
    bool one = isinf (least);

    if (!one && m->dof == 0) {
        error_world (err, "as many edges as pairs: nothing says by how much "
                          "values scatter");
        return false;
    }
    if (!one && noise * needed > least) {
        error_world (err, "latencies overlap: switches seem to be %.4g apart, "
                          "and values scatter by %.3g", least, m->noise_ns);
        return false;
    }
    if (m->noise_ns > RESOLUTION * s->median)
        rest = rest_of (m, s->matrix);
    left = proof == NO_STEP ? rest.ns : rest.most;
    if ((one && m->noise_ns > TOO_NOISY * s->median)
        || ((proof == GAP || rest.digits > HIDDEN)
            && (one || left > SMALL * least))) {
        error_world (err, "latencies overlap: they scatter by %.3g about %.4g, "
                          "in which a switch may hide", m->noise_ns, s->median);
        return false;
    }
    return true;
}

/* Of the models that are left and have no more edges than the best one, the one
 * with the fewest digits; on a tie, the one with the greater threshold. NULL:
 * none is left.
 */
static struct model_candidate *best_left (struct model_search *s)
{
    struct model_candidate *best = NULL;

    for (struct model_candidate *c = s->model; c < s->model + s->nmodels; c++)
        if (c->model && isfinite (c->digits) && c->model->nedges <= s->edges
            && (!best || c->digits < best->digits - SAME))
            best = c;
    return best;
}

/* The best model without the edges that noise added, if it is clear, or if no
 * other one puts its values into classes. NULL with err.
 */
static struct topology_model *choose_best_model (struct model_search *s,
                                                 struct error *err)
{
    struct model_candidate *c = best_left (s);
    struct topology_model *best;
    struct error ignored;

    if (!c) {
        error_world (err, "the pairs measured do not join all nodes");
        return NULL;
    }
    best = prune_model (s, c->model);
    if (is_model_clear (s, best, NOISE_OR_GAP, err))
        return best;
    for (; c; c = best_left (s)) {
        struct topology_model *m = c->model;

        c->model = NULL;
        if (is_model_clear (s, m, GAP, &ignored)) {
            topology_destroy (best);
            return m;
        }
        topology_destroy (m);
    }
    if (is_model_clear (s, best, NO_STEP, err))
        return best;
    topology_destroy (best);
    return NULL;
}

struct topology_model *infer_switches (const struct infer_matrix *m, double eps,
                                       struct error *err)
{
    struct infer_level *nodes = level_of_matrix (m);
    struct model_search s = {
        .matrix = m, .given = eps > 0, .least = INFINITY,
    };
    struct topology_model *model;
    int many = 0;
    double zero;

    find_scale (&s);
    zero = eps > 0 ? eps * s.median : fmax (s.range, s.median * RESOLUTION);
    for (int i = 0; i < (s.given ? 1 : STEPS) && many < MANY; i++) {
        terminal_work ("trying models", 0, 0);
        many = try_zero (&s, nodes, zero) ? many + 1 : 0;
        zero /= STEP;
    }
    terminal_work ("choosing a model", 0, 0);
    model = choose_best_model (&s, err);
    for (size_t i = 0; i < s.nmodels; i++)
        topology_destroy (s.model[i].model);
    level_destroy (nodes);
    return model;
}
