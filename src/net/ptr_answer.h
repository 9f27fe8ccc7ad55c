/* net/ptr_answer.h: a DNS message that answers what an address is called. Whoever owns the address wrote it, so nothing in it
 * is believed before it is looked at. Pure. For net's resolver. */
#pragma once
#include <stdint.h>
#include "net/addr.h"
#include "net/host_name.h"

/* "1.2.0.192.in-addr.arpa", or 32 nibbles and "ip6.arpa" (RFC 1035 section 3.5, RFC 3596 section 2.5). */
#define PTR_QUESTION_MAX 80
void ptr_question(const struct addr *a, char out[PTR_QUESTION_MAX]);

/* So many aliases may lead to the name (RFC 2317), and so many records are looked at. */
#define PTR_ALIASES_MAX 16
#define PTR_RECORDS_MAX 256

enum ptr_result { PTR_NAME, PTR_NO_NAME, PTR_BROKEN };
struct ptr_answer {
    char name[HOST_NAME_MAX_LEN + 1]; /* PTR_NAME: valid (host_name.h), in lower case */
    uint32_t ttl;                     /* seconds: the shortest of the records that led there; 0 without a name */
};
/* The first valid name among the PTR records of `asked` (dotted text) or of what its aliases, in the message's order,
 * lead to. PTR_BROKEN: it isn't a DNS message, up to where it was read. */
enum ptr_result ptr_answer_read(const unsigned char *message, size_t len, const char *asked, struct ptr_answer *out);
