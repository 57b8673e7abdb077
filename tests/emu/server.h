/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets of pmm-emu: one for probe clients, one for control. What clients
 * say once they have joined a session is in memory that each of them shares with
 * the emulator (probe/emu_proto.h).
 *
 * Any local user may connect to the first; only root, or the user who runs the
 * emulator, to the second. A control connection sends one line, a command of
 * model_command or "show", and gets a line "ok" or "error SENTENCE", then the
 * output.
 */
#ifndef EMU_SERVER_H
#define EMU_SERVER_H

#include "tests/emu/model.h"
#include "util/error.h"

enum {
    CONTROL_LINE_MAX = 4096,
    CONTROL_WORDS_MAX = 8,
};

struct server;

/* Listen on both sockets (control may be NULL); a stale socket is replaced. The
 * model is borrowed and changed by commands. Return NULL with err on failure.
 */
struct server *server_create (struct emu_model *m, const char *socket_path,
                              const char *control_path, int stall_ms,
                              struct error *err);

/* Serve until SIGTERM or SIGINT, which are blocked from server_create on.
 * Return 0, or -1 with err.
 */
int server_run (struct server *srv, struct error *err);

/* Close everything and remove the sockets. */
void server_destroy (struct server *srv);

/* The client side of control: send the words as one line, write the answer to
 * out. Return 0, or -1 with err (the emulator's sentence, or our own).
 */
int control_command (const char *path, int argc, char *const argv[],
                     FILE *out, struct error *err);

#endif /* EMU_SERVER_H */
