/* cache_peer HOST TYPE HTTP-PORT ICP-PORT [options] and cache_peer_access. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"
#include "net/carp.h"

static const char *const type_words[] = { "parent", "sibling", "multicast", NULL };
static const char *const login_words[] = { "PASS", "PASSTHRU", NULL };
static const char *const option_words[] = {
    "no-query",     "no-digest",        "no-netdb-exchange",
    "proxy-only",   "default",          "round-robin",
    "weight=",      "login=",           "name=",
    "originserver", "connect-timeout=", "connect-fail-limit=",
    "no-delay",     "no-tproxy",        "carp",
    "carp-key=",    "userhash",         "sourcehash",
    "max-conn=",    "standby=",         "weighted-round-robin",
    NULL,
};

#define NO_TLS "TLS to peers is not supported yet; a TLS client (stunnel) on this machine can stand between"

/* They steer ICP, digests, delay pools, TPROXY: with none of those there is nothing to steer. Prefixes, when they end
 * in =. */
static const char *const pointless[] = {
    "no-digest",      "no-netdb-exchange", "no-delay", "no-tproxy", "allow-miss",
    "closest-only",   "background-ping",   "ttl=",     "basetime=", "digest-url=",
    "auth-no-keytab", "connection-auth=",  NULL,
};

/* Prefixes, when they end in = or -. */
static const struct {
    const char *name, *why;
} refused[] = {
    { "ssl", NO_TLS },
    { "tls", NO_TLS },
    { "tls-", NO_TLS },
    { "sslcert=", NO_TLS },
    { "sslkey=", NO_TLS },
    { "sslversion=", NO_TLS },
    { "sslcipher=", NO_TLS },
    { "ssloptions=", NO_TLS },
    { "sslcafile=", NO_TLS },
    { "sslcapath=", NO_TLS },
    { "sslcrlfile=", NO_TLS },
    { "sslflags=", NO_TLS },
    { "ssldomain=", NO_TLS },
    { "multicast-responder", "there is no ICP" },
    { "multicast-siblings", "there is no ICP" },
    { "htcp", "there is no HTCP" },
    { "htcp=", "there is no HTCP" },
    { "forceddomain=", "not supported yet" },
    { "front-end-https", "not supported yet" },
    { "front-end-https=", "not supported yet" },
};

static bool begins(struct span word, const char *pattern)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] != '=' && pattern[n - 1] != '-')
        return span_eq(word, span_str(pattern));
    return word.len >= n && memcmp(word.p, pattern, n) == 0;
}

static struct peer_setting *peer_find(const struct settings *s, struct span name)
{
    for (size_t i = 0; i < s->n_peers; i++)
        if (span_eq(name, span_str(s->peers[i].name)))
            return &s->peers[i];
    return NULL;
}

static bool login_passes(struct span login)
{
    return span_eq(login, SPAN("PASS")) || span_eq(login, SPAN("PASSTHRU"));
}

static void read_login(struct reading *r, struct peer_setting *p, const struct word *w, struct span value)
{
    if (value.len >= 9 && memcmp(value.p, "NEGOTIATE", 9) == 0) {
        diag_error(
            r->report, w->at, NULL,
            "login=NEGOTIATE is not supported yet: have the peer ask for a password (login=user:password), or let "
            "it know this machine by its address");
    } else if (!login_passes(value) && memchr(value.p, ':', value.len) == NULL) {
        diag_error(r->report, w->at, similar_word(login_words, value),
                   "login= takes user:password, *:password, PASS or PASSTHRU");
    } else {
        free(p->login);
        p->passes_login = login_passes(value);
        p->login = p->passes_login ? NULL : xspandup(value);
    }
}

/* Options without a value. */
static bool read_flag(struct peer_setting *p, struct span word)
{
    const struct {
        const char *name;
        bool *to;
    } flags[] = {
        { "no-query", &p->no_query },
        { "proxy-only", &p->proxy_only },
        { "default", &p->is_default },
        { "originserver", &p->originserver },
    };

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (span_eq(word, span_str(flags[i].name)))
            return *flags[i].to = true;
    return false;
}

const char *const peer_group_names[PEER_GROUPS] = {
    [PEER_ROUND_ROBIN] = "round-robin",
    [PEER_CARP] = "carp",
    [PEER_USERHASH] = "userhash",
    [PEER_SOURCEHASH] = "sourcehash",
};

static bool read_group(struct reading *r, struct peer_setting *p, const struct word *w)
{
    enum peer_group g = PEER_ROUND_ROBIN;

    /* Without ICP nobody measures how far they are: weighted-round-robin goes by weight alone. */
    if (!span_eq(w->text, SPAN("weighted-round-robin")))
        while (g < PEER_GROUPS && !span_eq(w->text, span_str(peer_group_names[g])))
            g++;
    if (g == PEER_GROUPS)
        return false;
    if (p->group != PEER_ALONE && p->group != g)
        diag_error(r->report, w->at, NULL, "a peer is in one of the groups carp, userhash, sourcehash, round-robin");
    p->group = g;
    return true;
}

static bool read_number(struct peer_setting *p, struct span word)
{
    struct span value;
    int64_t n;

    if (option_is(word, "weight", &value) && value_count(value, 1, 1000000, &n) == VALUE_OK)
        p->weight = (int)n;
    else if (option_is(word, "connect-timeout", &value) && value_count(value, 1, 86400, &n) == VALUE_OK)
        p->connect_timeout = n * US_PER_S;
    else if (option_is(word, "connect-fail-limit", &value) && value_count(value, 1, INT32_MAX, &n) == VALUE_OK)
        p->fail_limit = (int)n;
    else if (option_is(word, "max-conn", &value) && value_count(value, 0, INT32_MAX, &n) == VALUE_OK)
        p->max_conn = (int)n;
    else if (option_is(word, "standby", &value) && value_count(value, 0, 10000, &n) == VALUE_OK)
        p->standby = (int)n;
    else
        return false;
    return true;
}

/* scheme,host,port,path,params */
static bool read_carp_key(struct peer_setting *p, struct span value)
{
    static const char *const parts[] = { "scheme", "host", "port", "path", "params" };
    struct span rest = value;

    p->carp_key = 0;
    while (rest.len > 0) {
        const char *comma = memchr(rest.p, ',', rest.len);
        struct span part = span_of(rest.p, comma ? (size_t)(comma - rest.p) : rest.len);
        size_t i = 0;

        while (i < 5 && !span_eq(part, span_str(parts[i])))
            i++;
        if (i == 5)
            return false;
        p->carp_key |= 1u << i;
        rest = comma ? span_of(comma + 1, rest.len - part.len - 1) : SPAN_NONE;
    }
    return p->carp_key != 0;
}

static void read_option(struct reading *r, struct peer_setting *p, const struct word *w)
{
    struct span value;

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (begins(w->text, refused[i].name)) {
            diag_error(r->report, w->at, NULL, "cache_peer option '%.*s': %s", QUOTED_ARG(w->text), refused[i].why);
            return;
        }
    for (size_t i = 0; pointless[i] != NULL; i++)
        if (begins(w->text, pointless[i]))
            return;
    if (read_flag(p, w->text) || read_group(r, p, w) || read_number(p, w->text))
        return;
    if (option_is(w->text, "carp-key", &value) && read_carp_key(p, value)) {
        ;
    } else if (option_is(w->text, "login", &value)) {
        read_login(r, p, w, value);
    } else if (option_is(w->text, "name", &value) && value.len > 0) {
        free(p->name);
        p->name = xspandup(value);
    } else {
        diag_error(r->report, w->at, similar_word(option_words, w->text),
                   "unknown cache_peer option or bad value '%.*s'", QUOTED_ARG(w->text));
    }
}

/* HOST TYPE HTTP-PORT ICP-PORT. False: it was an error. */
static bool read_fixed(struct reading *r, const struct line *l, uint16_t *port, int64_t *icp_port)
{
    const struct word *type = &l->words[2];

    if (span_eq(type->text, SPAN("sibling")) || span_eq(type->text, SPAN("multicast"))) {
        diag_error(r->report, type->at, NULL,
                   "cache_peer type %.*s needs ICP, which is not supported: make it a parent, or take the line out",
                   SPAN_ARG(type->text));
        return false;
    }
    if (!span_eq(type->text, SPAN("parent"))) {
        diag_error(r->report, type->at, similar_word(type_words, type->text), "unknown cache_peer type '%.*s'",
                   QUOTED_ARG(type->text));
        return false;
    }
    if (!port_number(l->words[3].text, port)) {
        diag_error(r->report, l->words[3].at, NULL, "'%.*s' is no port: 1 to 65535 are", QUOTED_ARG(l->words[3].text));
        return false;
    }
    if (value_count(l->words[4].text, 0, 65535, icp_port) != VALUE_OK) {
        diag_error(r->report, l->words[4].at, NULL, "'%.*s' is no ICP port: 0 means none",
                   QUOTED_ARG(l->words[4].text));
        return false;
    }
    return true;
}

static void parse_peer(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct peer_setting *p;
    struct span host;
    int64_t icp_port;
    uint16_t port;

    (void)d;
    if (!words_between(r, l, 4, SIZE_MAX) || !read_fixed(r, l, &port, &icp_port))
        return;
    host = l->words[1].text;
    if (host.len >= 2 && host.p[0] == '[' && host.p[host.len - 1] == ']')
        host = span_of(host.p + 1, host.len - 2);
    if (host.len == 0) {
        diag_error(r->report, l->words[1].at, NULL, "cache_peer needs a host");
        return;
    }
    p = ARRAY_PUSH(s->peers, s->n_peers);
    p->host = xspandup(host);
    p->port = port;
    p->weight = 1;
    p->fail_limit = 10;
    p->health = server_health_new();
    p->name = xspandup(host);
    for (size_t i = 5; i < l->n; i++)
        read_option(r, p, &l->words[i]);
    if (p->standby > 0 && p->max_conn > 0 && p->standby > p->max_conn)
        diag_error(r->report, l->words[1].at, NULL, "standby=%d is more than max-conn=%d allows", p->standby,
                   p->max_conn);
    if (icp_port != 0 && !p->no_query)
        diag_error(r->report, l->words[4].at, NULL, "ICP is not supported: write 0 for its port, or no-query");
    if (peer_find(s, span_str(p->name)) != p)
        diag_error(r->report, l->words[1].at, NULL,
                   "a cache_peer named '%s' is there already: tell them apart by name=", p->name);
}

static void print_carp_key(const struct peer_setting *p, struct strbuf *out)
{
    static const char *const parts[] = { "scheme", "host", "port", "path", "params" };
    const char *before = " carp-key=";

    for (size_t i = 0; i < 5; i++)
        if (p->carp_key & 1u << i) {
            sb_printf(out, "%s%s", before, parts[i]);
            before = ",";
        }
}

static void print_peer(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_peers; i++) {
        const struct peer_setting *p = &s->peers[i];

        sb_printf(out, "%s %s parent %u 0 name=%s", d->name, p->host, p->port, p->name);
        if (p->no_query)
            sb_str(out, " no-query");
        if (p->proxy_only)
            sb_str(out, " proxy-only");
        if (p->is_default)
            sb_str(out, " default");
        if (p->group != PEER_ALONE)
            sb_printf(out, " %s", peer_group_names[p->group]);
        if (p->weight != 1)
            sb_printf(out, " weight=%d", p->weight);
        if (p->originserver)
            sb_str(out, " originserver");
        if (p->connect_timeout != 0)
            sb_printf(out, " connect-timeout=%" PRId64, p->connect_timeout / US_PER_S);
        if (p->carp_key != 0)
            print_carp_key(p, out);
        if (p->max_conn != 0)
            sb_printf(out, " max-conn=%d", p->max_conn);
        if (p->fail_limit != 10)
            sb_printf(out, " connect-fail-limit=%d", p->fail_limit);
        if (p->standby != 0)
            sb_printf(out, " standby=%d", p->standby);
        if (p->passes_login)
            sb_str(out, " login=PASS");
        else if (p->login != NULL)
            sb_str(out, p->login[0] == '*' ? " login=*:XXXXXXXXXX" : " login=XXXXXXXXXX");
        sb_char(out, '\n');
    }
}

static void parse_peer_access(struct reading *r, const struct directive *d, const struct line *l)
{
    struct peer_setting *p;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    p = peer_find(r->s, l->words[1].text);
    if (p == NULL) {
        diag_error(r->report, l->words[1].at, NULL, "no cache_peer '%.*s' is defined above",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    if (p->access == NULL)
        p->access = access_list_new(true);
    access_add_words(r, p->access, l, 2, NULL);
}

static void print_peer_access(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_peers; i++)
        if (s->peers[i].access != NULL) {
            char *name = xasprintf("%s %s", d->name, s->peers[i].name);

            access_list_print(s->peers[i].access, name, out);
            free(name);
        }
}

static void weigh_group(struct settings *s, enum peer_group g)
{
    double *loads = xcalloc(s->n_peers + 1, sizeof *loads), *multipliers = xcalloc(s->n_peers + 1, sizeof *multipliers);
    size_t n = 0, k = 0;

    for (size_t i = 0; i < s->n_peers; i++)
        if (s->peers[i].group == g)
            loads[n++] = s->peers[i].weight;
    if (n > 0)
        carp_multipliers(loads, n, multipliers);
    for (size_t i = 0; i < s->n_peers; i++)
        if (s->peers[i].group == g) {
            s->peers[i].member_hash = carp_member_hash(span_str(s->peers[i].name));
            s->peers[i].multiplier = multipliers[k++];
        }
    free(loads);
    free(multipliers);
}

void peers_complete(struct reading *r)
{
    weigh_group(r->s, PEER_CARP);
    weigh_group(r->s, PEER_USERHASH);
    weigh_group(r->s, PEER_SOURCEHASH);
}

const struct directive_kind kind_peer = { parse_peer, print_peer };
const struct directive_kind kind_peer_access = { parse_peer_access, print_peer_access };
