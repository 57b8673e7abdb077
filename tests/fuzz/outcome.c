/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines by which the plugin hears what a check said. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "spank/outcome.h"

enum { JOB = 7 };

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = fuzz_text (data, size), line[OUTCOME_LINE];
    struct outcome o, again;

    outcome_parse_result (&o, text, "00000000000000000000000000000001");
    if (outcome_parse_record (&o, text, JOB)) {
        outcome_format_record (&o, JOB, line);
        if (!outcome_parse_record (&again, line, JOB)
            || again.status != o.status)
            abort ();
    }
    free (text);
    return 0;
}
