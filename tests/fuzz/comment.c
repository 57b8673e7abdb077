/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of a job's comment field, whoever wrote them. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "report/comment.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = fuzz_text (data, size), entry[COMMENT_ENTRY_MAX + 1];
    const char *field = text;
    struct comment c;

    while (comment_next (&field, &c)) {
        comment_format (&c, entry);
        free (comment_append (text, entry, COMMENT_ADMIN_MAX));
    }
    free (text);
    return 0;
}
