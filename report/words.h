/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verdict says in a sentence, and what to do. */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

/* "h0006 mlx5_0's cable", "s1-0002/6 -- s2-0002/2"; the caller frees it. */
char *words_link (const struct fabric *f, uint32_t link);

/* What is wrong: "a cable is 1.0 us slow: h0006's, or s1-0002/6 -- s2-0002/2".
 * The caller frees it.
 */
char *words_finding (const struct finding *x, const struct fabric *f);

/* What whoever has a job does about it: "leave out h0006, or send this to your
 * support". The caller frees it.
 */
char *words_do (const struct finding *x);

#endif /* REPORT_WORDS_H */
