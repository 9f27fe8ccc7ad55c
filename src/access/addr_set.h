/* access/addr_set.h: a set of addresses given as ranges: sorted, merged, found by binary search; 8 bytes a range of IPv4,
 * 32 of IPv6. The families are kept apart; struct addr has made mapped addresses IPv4 already.
 *
 * Threads: one builds; read-only afterwards, by any. */
#pragma once
#include "base/strbuf.h"
#include "net/addr.h"

struct addr_set;

/* An address as a number of 32 or 128 bits, first byte most significant. */
typedef unsigned __int128 addr_number;
addr_number addr_to_number(const struct addr *a);
struct addr addr_from_number(addr_number n, int family);
/* All ones: the family's last address. */
addr_number addr_number_max(int family);

struct addr_set *addr_set_new(void);
void addr_set_free(struct addr_set **holder);
/* family: AF_INET or AF_INET6; first <= last. Takes effect with addr_set_settle(). */
void addr_set_add(struct addr_set *s, int family, addr_number first, addr_number last);
/* Sorts in what was added: O(k log k) for k new ranges, and the ranges behind the first of them are moved. */
void addr_set_settle(struct addr_set *s);
/* The port doesn't count. Family 0 is in no set but the one of everything. Asserts that the set is settled. */
bool addr_set_contains(const struct addr_set *s, const struct addr *a);
/* Both families, whole. */
bool addr_set_is_everything(const struct addr_set *s);
/* Each range as ADDRESS, ADDRESS/PREFIX or FIRST-LAST and a blank; "all " for everything. */
void addr_set_print(const struct addr_set *s, struct strbuf *out);
