/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left to do when the run is ended from outside.
 *
 * Notes: a handler may do next to nothing, and the process may be deep in a
 * library for ever: it is a thread that waits for the handler's word.
 */
#include "config.h"
#include "probe/exchange/keep.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const int signals[] = { SIGTERM, SIGINT };

enum { SIGNALS = sizeof (signals) / sizeof (signals[0]) };

struct keep {
    void (*fn) (void *arg);
    void *arg;
    bool over;
    pthread_mutex_t lock;
    pthread_t thread;
    struct sigaction before[SIGNALS];
};

static sem_t word; /* of the handler, or that it is over */

static void on_signal (int sig)
{
    int saved_errno = errno;

    (void)sig;
    sem_post (&word);
    errno = saved_errno;
}

static void *wait_for_word (void *arg)
{
    struct keep *k = arg;

    while (sem_wait (&word) < 0)
        ;
    pthread_mutex_lock (&k->lock);
    if (!k->over) {
        k->fn (k->arg);
        _exit (ERROR_WORLD);
    }
    pthread_mutex_unlock (&k->lock);
    return NULL;
}

struct keep *keep_start (void (*fn) (void *arg), void *arg,
                         struct error *err)
{
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART };
    struct keep *k = calloc (1, sizeof (*k));

    if (!k) {
        error_nomem (err);
        return NULL;
    }
    k->fn = fn;
    k->arg = arg;
    sem_init (&word, 0, 0);
    pthread_mutex_init (&k->lock, NULL);
    if ((errno = pthread_create (&k->thread, NULL, wait_for_word, k)) != 0) {
        error_errno (err, "cannot start a thread");
        pthread_mutex_destroy (&k->lock);
        free (k);
        return NULL;
    }
    sigemptyset (&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &action, &k->before[i]);
    return k;
}

void keep_over (struct keep *k)
{
    if (!k)
        return;
    keep_lock (k);
    k->over = true;
    keep_unlock (k);
}

void keep_stop (struct keep *k)
{
    if (!k)
        return;
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &k->before[i], NULL);
    keep_over (k);
    sem_post (&word);
    pthread_join (k->thread, NULL);
    pthread_mutex_destroy (&k->lock);
    sem_destroy (&word);
    free (k);
}

void keep_lock (struct keep *k)
{
    if (k)
        pthread_mutex_lock (&k->lock);
}

void keep_unlock (struct keep *k)
{
    if (k)
        pthread_mutex_unlock (&k->lock);
}
