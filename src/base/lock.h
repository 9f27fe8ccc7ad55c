/* base/lock.h: locks that are held for tens of nanoseconds: a waiter spins a little before it sleeps. A sleep and a
 * wake-up cost a hundred times what it waits for. Any thread. */
#pragma once
#include <pthread.h>

void lock_init(pthread_mutex_t *lock);
