/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws of a noise test. */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdbool.h>
#include <string.h>

#include "tests/tap.h"

enum { N = 8, NOISE = 3, PASSES = 800 };

/* Each process once in a draw. */
static bool is_draw (const uint32_t *process)
{
    bool seen[N] = { false };

    for (int i = 0; i < N; i++) {
        if (process[i] >= N || seen[process[i]])
            return false;
        seen[process[i]] = true;
    }
    return true;
}

static void test_draws (void)
{
    uint32_t goal[N] = { 0 }, noise[N] = { 0 };
    uint32_t process[N];
    int wrong = 0, rare = 0;

    for (int pass = 0; pass < PASSES; pass++) {
        wrong += noise_draw (N, NOISE, NULL, 1, pass, process, NULL) < 0
                 || !is_draw (process);
        goal[process[0]]++;
        for (int i = 2; i < 2 + NOISE; i++)
            noise[process[i]]++;
    }
    for (int i = 0; i < N; i++)
        rare += goal[i] < PASSES / N / 2
                || noise[i] < NOISE * PASSES / N / 2;
    ok (wrong == 0 && rare == 0,
        "each process in a pass once, in every role now and then");
}

static void test_goal (void)
{
    const struct probe goal = { 6, 1 };
    uint32_t process[N];
    int wrong = 0;

    for (int pass = 0; pass < 100; pass++)
        wrong += noise_draw (N, N - 2, &goal, 1, pass, process, NULL) < 0
                 || !is_draw (process) || process[0] != 6 || process[1] != 1;
    ok (wrong == 0, "a given pair stays");
}

static void test_seeds (void)
{
    uint32_t a[64], b[64], c[64], d[64];

    ok (noise_draw (64, 4, NULL, 1, 5, a, NULL) == 0
            && noise_draw (64, 4, NULL, 1, 5, b, NULL) == 0
            && noise_draw (64, 4, NULL, 1, 6, c, NULL) == 0
            && noise_draw (64, 4, NULL, 2, 5, d, NULL) == 0
            && !memcmp (a, b, sizeof (a)) && memcmp (a, c, sizeof (a))
            && memcmp (a, d, sizeof (a)) && memcmp (c, d, sizeof (a)),
        "a seed and a pass repeat, others differ");
}

static const struct {
    uint32_t n, nnoise;
    struct probe goal;
    const char *error;
} refused[] = {
    { 1, 0, { 0, 1 }, "there are 1 processes" },
    { 4, 3, { 0, 1 }, "there are 4 processes" },
    { 4, 2, { 2, 2 }, "not two of 4" },
    { 4, 2, { 4, 2 }, "not two of 4" },
};

static void test_refused (void)
{
    for (size_t i = 0; i < sizeof (refused) / sizeof (refused[0]); i++) {
        uint32_t process[N];
        struct error err = { 0 };

        ok (noise_draw (refused[i].n, refused[i].nnoise, &refused[i].goal, 1,
                        1, process, &err) < 0
                && strstr (err.text, refused[i].error), "%s", err.text);
    }
}

int main (void)
{
    test_draws ();
    test_goal ();
    test_seeds ();
    test_refused ();
    return done_testing ();
}
