/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make text from outside safe; parse numbers and lists of host names; fold host
 * names.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/* Make s safe for a log, a node's Reason or a terminal: every byte that is not
 * printable ASCII becomes '?'. In place; returns s.
 */
char *text_clean (char *s);

/* In a function with a format and further arguments: print them to buf[size]. */
#define TEXT_PRINT(buf, size, fmt)                                            \
    do {                                                                      \
        va_list text_args;                                                    \
                                                                              \
        va_start (text_args, fmt);                                            \
        vsnprintf ((buf), (size), (fmt), text_args);                          \
        va_end (text_args);                                                   \
    } while (0)

/* Lower case of an ASCII letter in any locale; other bytes are unchanged. */
char text_lower (char c);

/* A string from argv or the like, for use in one printf: clean, and cut to
 * TEXT_SHOWN bytes with its NUL. The sentences of util/error are clean already.
 */
enum { TEXT_SHOWN = 256 };
char *text_shown (char *buf, const char *s);
#define SHOWN(s) text_shown ((char[TEXT_SHOWN]){ 0 }, (s))

/* "1 link", "3 links", "2 switches", "0 queries", for use in one printf: a
 * number with its noun, which must have a regular plural. Writes to
 * buf[TEXT_COUNT] and returns buf.
 */
enum { TEXT_COUNT = 64 };
char *text_count (char *buf, uint64_t n, const char *noun);
#define COUNTED(n, noun) text_count ((char[TEXT_COUNT]){ 0 }, (n), (noun))

/* True if s is a host name of Slurm and the fabric: 1 to 63 letters, digits,
 * '-', '_' and '.', not starting with '-' or '.'.
 */
bool text_is_hostname (const char *s);

/* Parse the whole of s as a number from min to max. Return 0, or -1 with
 * errno EINVAL or ERANGE and *value unchanged. text_u64 takes base 10, or base
 * 16 if s starts with 0x.
 */
int text_u64 (const char *s, uint64_t min, uint64_t max, uint64_t *value);
int text_double (const char *s, double min, double max, double *value);

/* The same for a number of bytes up to max: a suffix k or K multiplies by 2^10,
 * m or M by 2^20.
 */
int text_bytes (const char *s, uint64_t max, uint64_t *bytes);

/* Guess which name a misspelt word means: begin with {word} and call text_guess
 * for each name. `best` is then the closest name, or NULL if no name is close
 * (at most a third of its letters differ). Case is ignored.
 */
struct text_guess {
    const char *word;
    const char *best;
    size_t distance; /* of best: wrong, missing, extra or swapped letters */
};
void text_guess (struct text_guess *guess, const char *name);

/* True if the word is in the list, whose words are separated by commas. */
bool text_listed (const char *list, const char *word);

/* The next path of a list, without blanks around it; *list moves on. Paths are
 * separated by commas, and cut to TEXT_PATH bytes with the NUL. False: there is
 * none.
 */
enum { TEXT_PATH = 4096 };
bool text_next (const char **list, char path[TEXT_PATH]);

/* The next line of a text that is not empty: without its comment, which '#'
 * starts, and without blanks before it. In place; *rest moves on, *number counts
 * all lines. NULL: there are no more.
 */
char *text_line (char **rest, unsigned long *number);

/* Arrays of strings. text_unique sorts n names, drops duplicates and returns
 * how many are left. text_find returns the place of `name` in a sorted array,
 * or NULL.
 */
size_t text_unique (const char **name, size_t n);
const char *const *text_find (const char *const *sorted, size_t n,
                              const char *name);

/*
 * hostlist.c
 */

/* A list of host names, in the order they were given. */
struct hostlist {
    char **name;
    size_t count;
};

/* True if the list, which is sorted, has the name. */
bool hostlist_has (const struct hostlist *sorted, const char *name);

/* Parse "node[001-016,020],login1": entries separated by commas or white space,
 * no nested brackets, at most `max` names. Duplicates and an empty list are
 * errors. Return 0, or -1 with err set and *hl empty. hostlist_clear frees the
 * names.
 */
int hostlist_parse (struct hostlist *hl, const char *s, size_t max,
                    struct error *err);
void hostlist_clear (struct hostlist *hl);

/* The same for names of any kind, such as mlx5_[0-7]/1; duplicates and an empty
 * list are none of its business.
 */
int hostlist_expand (struct hostlist *hl, const char *s, size_t max,
                     struct error *err);

/* Fold names into Slurm's notation, "node[001-003,007]": sorted, duplicates
 * dropped. Returns a string that the caller frees.
 */
char *hostlist_fold (const char *const *name, size_t count);

#endif /* UTIL_TEXT_H */
