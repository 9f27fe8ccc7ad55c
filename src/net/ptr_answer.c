#include "net/ptr_answer.h"

#include <stdio.h>

#define WIRE_NAME_MAX 255 /* RFC 1035 section 2.3.4: length bytes and the root's included */
#define HEADER 12
#define POINTERS_MAX 64 /* followed for one name: there are at most 127 labels to share */
#define TYPE_CNAME 5
#define TYPE_PTR 12
#define CLASS_IN 1

void ptr_question(const struct addr *a, char out[PTR_QUESTION_MAX])
{
    if (a->family == AF_INET) {
        snprintf(out, PTR_QUESTION_MAX, "%u.%u.%u.%u.in-addr.arpa", a->bytes[3], a->bytes[2], a->bytes[1], a->bytes[0]);
        return;
    }
    for (size_t i = 16; i-- > 0;) {
        static const char digits[] = "0123456789abcdef";

        *out++ = digits[a->bytes[i] & 15];
        *out++ = '.';
        *out++ = digits[a->bytes[i] >> 4];
        *out++ = '.';
    }
    memcpy(out, "ip6.arpa", sizeof "ip6.arpa");
}

/* Labels with their lengths, in lower case, the root's 0 at the end. ares_expand_name() would have done, but makes text of a
 * name of any length, with escapes to be undone, before anybody can judge it. */
struct wire_name {
    unsigned char bytes[WIRE_NAME_MAX];
    size_t len;
};

struct message {
    const unsigned char *p;
    size_t len, at;
};

static bool take16(struct message *m, unsigned *value)
{
    if (m->len - m->at < 2)
        return false;
    *value = (unsigned)m->p[m->at] << 8 | m->p[m->at + 1];
    m->at += 2;
    return true;
}

static bool take32(struct message *m, uint32_t *value)
{
    unsigned high, low;

    if (!take16(m, &high) || !take16(m, &low))
        return false;
    *value = (uint32_t)high << 16 | low;
    return true;
}

/* RFC 1035 section 4.1.4. A pointer leads to what stands before it and before any other followed so far, so it ends. */
static bool take_name(struct message *m, struct wire_name *n)
{
    size_t at = m->at, before = m->at;
    unsigned jumps = 0;

    n->len = 0;
    for (;;) {
        unsigned length;

        if (at >= m->len)
            return false;
        length = m->p[at];
        if (length >= 0xc0) {
            if (m->len - at < 2 || jumps == POINTERS_MAX)
                return false;
            if (jumps++ == 0)
                m->at = at + 2;
            at = (size_t)(length & 0x3f) << 8 | m->p[at + 1];
            if (at >= before)
                return false;
            before = at;
            continue;
        }
        if (length > 63 || length >= m->len - at || n->len + 1 + length > WIRE_NAME_MAX - (length > 0))
            return false;
        n->bytes[n->len++] = (unsigned char)length;
        for (unsigned i = 1; i <= length; i++)
            n->bytes[n->len++] = (unsigned char)ascii_lower((char)m->p[at + i]);
        at += 1 + length;
        if (length == 0)
            break;
    }
    if (jumps == 0)
        m->at = at;
    return true;
}

static bool names_eq(const struct wire_name *a, const struct wire_name *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* text: ours, so its labels are short enough. */
static void wire_name_set(struct wire_name *n, const char *text)
{
    n->len = 0;
    while (*text != '\0') {
        size_t label = strcspn(text, ".");

        n->bytes[n->len++] = (unsigned char)label;
        memcpy(n->bytes + n->len, text, label);
        n->len += label;
        text += label + (text[label] == '.');
    }
    n->bytes[n->len++] = 0;
}

/* False: it isn't the name of a host. A dot in a label would be taken for one between labels. */
static bool to_text(const struct wire_name *n, char out[HOST_NAME_MAX_LEN + 1])
{
    size_t len = 0;

    for (size_t at = 0; n->bytes[at] != 0; at += 1 + n->bytes[at]) {
        if (memchr(n->bytes + at + 1, '.', n->bytes[at]) != NULL)
            return false;
        if (len > 0)
            out[len++] = '.';
        memcpy(out + len, n->bytes + at + 1, n->bytes[at]);
        len += n->bytes[at];
    }
    out[len] = '\0';
    return host_name_is_valid(span_of(out, len));
}

struct record {
    struct wire_name owner;
    unsigned type, class;
    uint32_t ttl;
    struct message data; /* at is where it begins; len its end, so that names in it can point back */
};

static bool take_record(struct message *m, struct record *r)
{
    unsigned len;

    if (!take_name(m, &r->owner) || !take16(m, &r->type) || !take16(m, &r->class) || !take32(m, &r->ttl) ||
        !take16(m, &len) || len > m->len - m->at)
        return false;
    if (r->ttl > INT32_MAX)
        r->ttl = 0; /* RFC 2181 section 8 */
    r->data = (struct message){ m->p, m->at + len, m->at };
    m->at += len;
    return true;
}

/* The name that is all of the record's data. */
static bool record_name(struct record *r, struct wire_name *out)
{
    return take_name(&r->data, out) && r->data.at == r->data.len;
}

/* c-ares has seen that it is ours. */
static bool skip_question(struct message *m)
{
    struct wire_name ignored;
    unsigned type, class;

    return take_name(m, &ignored) && take16(m, &type) && take16(m, &class);
}

enum ptr_result ptr_answer_read(const unsigned char *message, size_t len, const char *asked, struct ptr_answer *out)
{
    struct message m = { message, len, 4 };
    unsigned questions, answers, aliases = 0;
    struct wire_name wanted, target;
    uint32_t ttl = INT32_MAX;
    struct record r;

    *out = (struct ptr_answer){ .ttl = 0 };
    if (len < HEADER || !take16(&m, &questions) || !take16(&m, &answers))
        return PTR_BROKEN;
    m.at = HEADER;
    if (questions != 1 || !skip_question(&m))
        return PTR_BROKEN;
    wire_name_set(&wanted, asked);
    for (unsigned i = 0; i < answers && i < PTR_RECORDS_MAX; i++) {
        if (!take_record(&m, &r))
            return PTR_BROKEN;
        if (r.class != CLASS_IN || (r.type != TYPE_CNAME && r.type != TYPE_PTR) || !names_eq(&r.owner, &wanted))
            continue;
        if (!record_name(&r, &target))
            return PTR_BROKEN;
        if (r.type == TYPE_CNAME) {
            if (++aliases > PTR_ALIASES_MAX)
                return PTR_NO_NAME;
            wanted = target;
            ttl = r.ttl < ttl ? r.ttl : ttl;
        } else if (to_text(&target, out->name)) {
            out->ttl = r.ttl < ttl ? r.ttl : ttl;
            return PTR_NAME;
        }
    }
    out->name[0] = '\0';
    return PTR_NO_NAME;
}
