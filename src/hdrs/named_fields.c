#include "hdrs/named_fields.h"

#include "base/hash.h"
#include "hdrs/field_list.h"

#define BUCKETS (sizeof((struct named_fields *)0)->bucket / sizeof(uint16_t))

/* FNV-1a from a start nobody outside knows: names can't be prepared to fall into one bucket. */
static unsigned bucket_of(const struct named_fields *index, struct span name)
{
    uint64_t h = index->seed;

    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)ascii_lower(name.p[i])) * UINT64_C(0x100000001B3);
    return (unsigned)(h >> 48) % BUCKETS;
}

void named_fields_index(struct named_fields *index, const struct head *h)
{
    index->head = h;
    index->seed = hash128("field names", sizeof "field names").low;
    memset(index->bucket, 0, sizeof index->bucket);
    for (uint16_t i = 0; i < h->n_fields; i++) {
        unsigned b = bucket_of(index, field_name(h, &h->fields[i]));

        index->next[i] = index->bucket[b];
        index->bucket[b] = (uint16_t)(i + 1);
    }
}

void named_fields_drop(const struct named_fields *index, struct span list, unsigned spared, bool *keep)
{
    const struct head *h = index->head;
    struct span name;

    while (list_next(&list, &name))
        for (uint16_t n = index->bucket[bucket_of(index, name)]; n != 0; n = index->next[n - 1]) {
            const struct head_field *f = &h->fields[n - 1];

            if (keep[n - 1] && span_eq_nocase(field_name(h, f), name) && !(token_policy(f->token) & spared))
                keep[n - 1] = false;
        }
}

void named_fields_drop_connection(const struct named_fields *index, bool *keep)
{
    const struct head *h = index->head;

    for (const struct head_field *f = head_find(h, TOKEN_CONNECTION); f != NULL; f = head_next(h, f))
        named_fields_drop(index, field_value(h, f), TOKEN_PROTECTED, keep);
}

void keep_end_to_end(const struct head *h, bool *keep)
{
    struct named_fields index;

    for (unsigned i = 0; i < h->n_fields; i++)
        keep[i] = !(token_policy((enum token)h->fields[i].token) & TOKEN_HOP_BY_HOP);
    if (head_find(h, TOKEN_CONNECTION) == NULL)
        return;
    named_fields_index(&index, h);
    named_fields_drop_connection(&index, keep);
}
