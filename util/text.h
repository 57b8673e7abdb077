/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from outside, made safe; numbers and host names, parsed and folded. */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Make s safe for a log, a reason, a terminal: every byte that is no
 * printable ASCII becomes '?'. In place; returns s.
 */
char *text_clean (char *s);

/* An ASCII letter's lower case, whatever the locale; other bytes are kept. */
char text_lower (char c);

/* What stands in argv or the like, for one printf: clean, and cut to
 * TEXT_SHOWN. Sentences of util/error are clean anyway.
 */
enum { TEXT_SHOWN = 256 };
char *text_shown (char *buf, const char *s);
#define SHOWN(s) text_shown ((char[TEXT_SHOWN]){ 0 }, (s))

/* "1 link", "3 links", "2 switches", "0 queries", for one printf: a number and
 * its noun, of regular English, into buf[TEXT_COUNT], which it returns.
 */
enum { TEXT_COUNT = 64 };
char *text_count (char *buf, uint64_t n, const char *noun);
#define COUNTED(n, noun) text_count ((char[TEXT_COUNT]){ 0 }, (n), (noun))

/* True if s is a host name as Slurm and the fabric know them: 1 to 63
 * letters, digits, '-', '_' and '.', not starting with '-' or '.'.
 */
bool text_is_hostname (const char *s);

/* Parse the whole of s as a number from min to max. Return 0, or -1 with
 * errno EINVAL or ERANGE and *value untouched. text_u64 takes base 10, or
 * base 16 where s starts with 0x.
 */
int text_u64 (const char *s, uint64_t min, uint64_t max, uint64_t *value);
int text_double (const char *s, double min, double max, double *value);

/* The same of a number of bytes up to max, behind which k and M stand for
 * multiples of 2^10 and 2^20, K and m too.
 */
int text_bytes (const char *s, uint64_t max, uint64_t *bytes);

/* Which of some names `word` was meant to be: {word}, then text_guess for each
 * name; `best` is then the one that is a few letters from it, whatever their
 * case, or NULL.
 */
struct text_guess {
    const char *word;
    const char *best;
    size_t distance; /* of best: letters wrong, missing, too many or swapped */
};
void text_guess (struct text_guess *guess, const char *name);

/* The order of an array of strings, for qsort; to sort n of them and drop those
 * that are there twice, which returns how many are left; and where `name` is in
 * an array of n that is sorted, or NULL.
 */
int text_compare (const void *a, const void *b);
size_t text_unique (const char **name, size_t n);
const char *const *text_find (const char *const *sorted, size_t n,
                              const char *name);

/* A list of host names, in the order they were given. */
struct hostlist {
    char **name;
    size_t count;
};

/* True if a list that is sorted by text_compare has the name. */
bool hostlist_has (const struct hostlist *sorted, const char *name);

/* Parse "node[001-016,020],login1", commas and white space between entries,
 * nested brackets not allowed, at most `max` names. A name twice is an error.
 * Return 0, or -1 with err set and *hl empty. hostlist_clear frees the names.
 */
int hostlist_parse (struct hostlist *hl, const char *s, size_t max,
                    struct error *err);
void hostlist_clear (struct hostlist *hl);

/* Fold names into Slurm's notation, "node[001-003,007]": sorted, duplicates
 * dropped. Returns a string that the caller frees, NULL with errno ENOMEM.
 */
char *hostlist_fold (const char *const *name, size_t count);

#endif /* UTIL_TEXT_H */
