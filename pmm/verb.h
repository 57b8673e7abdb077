/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb of the pmm command: to add one, write verb_<name>.c, declare it
 * here, list it in main.c.
 */
#ifndef PMM_VERB_H
#define PMM_VERB_H

/* argv[0] is the verb. Returns the exit status. */
typedef int (*verb_f) (int argc, char **argv);

int verb_audit (int argc, char **argv);
int verb_compare (int argc, char **argv);
int verb_confirm (int argc, char **argv);
int verb_doctor (int argc, char **argv);
int verb_export (int argc, char **argv);
int verb_fabric (int argc, char **argv);
int verb_infer (int argc, char **argv);
int verb_ledger (int argc, char **argv);
int verb_path (int argc, char **argv);
int verb_pattern (int argc, char **argv);
int verb_plan (int argc, char **argv);
int verb_policy (int argc, char **argv);
int verb_rates (int argc, char **argv);
int verb_report (int argc, char **argv);
int verb_series (int argc, char **argv);
int verb_simulate (int argc, char **argv);
int verb_solve (int argc, char **argv);
int verb_judge (int argc, char **argv);

#endif /* PMM_VERB_H */
