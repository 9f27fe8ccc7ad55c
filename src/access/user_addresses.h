/* access/user_addresses.h: from how many addresses each user came lately, for `acl NAME max_user_ip`.
 *
 * Threads: any: one table for all workers, under its lock. */
#pragma once
#include "base/span.h"
#include "net/addr.h"

struct user_addresses;
struct user_addresses *user_addresses_new(void);
void user_addresses_free(struct user_addresses **holder);
/* The user asks from this address now (monotonic microseconds). Returns from how many addresses that was so within ttl
 * microseconds. users_max: how many users are remembered; the longest unseen
 * go first. */
unsigned user_addresses_seen(struct user_addresses *t, struct span user, const struct addr *from, int64_t mono,
                             int64_t ttl, size_t users_max);
/* Forgets this address of the user, or with NULL all. */
void user_addresses_forget(struct user_addresses *t, struct span user, const struct addr *from);
