#include "proxy/peer_select.h"

#include "net/carp.h"
#include "proxy/peer_probe.h"
#include "proxy/request_access.h"

/* unsure: what to take for it when the list can't be told without addresses (`dst`); absent: when it isn't there. */
static bool says_allow(const struct access_list *l, const struct request *r, bool absent, bool unsure)
{
    enum access_answer a;

    if (l == NULL || access_list_is_empty(l))
        return absent;
    a = request_access(l, r).answer;
    return !access_is_final(a) ? unsure : a == ACCESS_ALLOWED;
}

/* --- who may be asked ------------------------------------------------------------------------------------------- */

/* What of a peer is asked about for one request. */
struct choice {
    struct proxy_worker *pw;
    struct settings *settings;
    const struct request *request;
    struct route *out;
    size_t n, max;
};

static bool may_ask(const struct choice *c, const struct peer_setting *p)
{
    if (!says_allow(p->access, c->request, true, false))
        return false;
    /* An origin server takes requests for its own site only: those that came through an accelerator port, or that its
     * cache_peer_access lines choose. */
    if (p->originserver && !c->request->accel && p->access == NULL)
        return false;
    return peer_is_alive(c->pw, c->settings, p);
}

static void add(struct choice *c, const struct peer_setting *p, enum hier_code hier)
{
    if (c->n < c->max)
        c->out[c->n++] = (struct route){ p, hier };
}

/* --- groups that choose by a text ------------------------------------------------------------------------------- */

#define KEY_MAX 8192

static struct span user_key(const struct request *r, char *out)
{
    (void)out;
    return r->user;
}

static struct span source_key(const struct request *r, char *out)
{
    addr_print(request_acl_client(r), out);
    return span_str(out);
}

/* The parts of the URL that carp-key= names; all of it without one. */
static struct span carp_key(const struct peer_setting *p, const struct request *r, char *out)
{
    struct span path = r->uri.path, params = SPAN_NONE;
    const char *q = path.len > 0 ? memchr(path.p, '?', path.len) : NULL;
    char port[8];
    size_t n = 0;

    if (p->carp_key == 0)
        return r->uri.text;
    if (q != NULL) {
        params = span_of(q, path.len - (size_t)(q - path.p));
        path.len = (size_t)(q - path.p);
    }
    snprintf(port, sizeof port, "%u", r->uri.port);
    {
        const struct {
            unsigned part;
            struct span text;
        } parts[] = { { CARP_SCHEME, r->uri.scheme },
                      { CARP_HOST, r->uri.host },
                      { CARP_PORT, span_str(port) },
                      { CARP_PATH, path },
                      { CARP_PARAMS, params } };

        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            if ((p->carp_key & parts[i].part) && parts[i].text.len <= KEY_MAX - n) {
                memcpy(out + n, parts[i].text.p, parts[i].text.len);
                n += parts[i].text.len;
            }
    }
    return span_of(out, n);
}

static double score(const struct choice *c, const struct peer_setting *p, struct span key)
{
    char text[KEY_MAX];

    return carp_score(p->group == PEER_CARP ? carp_key(p, c->request, text) : key, p->member_hash, p->multiplier);
}

/* The members of a group, the highest score first. */
static void add_hashed(struct choice *c, enum peer_group g, struct span key, enum hier_code hier)
{
    double scores[ROUTES_MAX];
    size_t first = c->n;

    for (size_t i = 0; i < c->settings->n_peers; i++) {
        const struct peer_setting *p = &c->settings->peers[i];
        size_t at = c->n;
        double s;

        if (p->group != g || c->n == c->max || !may_ask(c, p))
            continue;
        s = score(c, p, key);
        add(c, p, hier);
        for (; at > first && scores[at - first - 1] < s; at--) {
            c->out[at] = c->out[at - 1];
            scores[at - first] = scores[at - first - 1];
        }
        c->out[at] = (struct route){ p, hier };
        scores[at - first] = s;
    }
}

/* --- by turns --------------------------------------------------------------------------------------------------- */

static unsigned weight_of(const struct peer_setting *p)
{
    return p->weight > 0 ? (unsigned)p->weight : 1;
}

/* Each has as many turns as it weighs; who comes after whose turn it is, is next in the list. */
static void add_robins(struct choice *c)
{
    const struct peer_setting *robins[ROUTES_MAX];
    size_t n = 0, k = 0;
    unsigned weights = 0, turn;

    for (size_t i = 0; i < c->settings->n_peers && n < ROUTES_MAX; i++)
        if (c->settings->peers[i].group == PEER_ROUND_ROBIN && may_ask(c, &c->settings->peers[i])) {
            robins[n++] = &c->settings->peers[i];
            weights += weight_of(robins[n - 1]);
        }
    if (n == 0)
        return;
    for (turn = c->pw->round_robin++ % weights; turn >= weight_of(robins[k]); k++)
        turn -= weight_of(robins[k]);
    for (size_t i = 0; i < n; i++)
        add(c, robins[(k + i) % n], HIER_ROUNDROBIN_PARENT);
}

/* --- in order --------------------------------------------------------------------------------------------------- */

static void add_in_order(struct choice *c, bool defaults, enum hier_code hier)
{
    for (size_t i = 0; i < c->settings->n_peers; i++) {
        const struct peer_setting *p = &c->settings->peers[i];

        if (p->group == PEER_ALONE && p->is_default == defaults && may_ask(c, p))
            add(c, p, hier);
    }
}

static void add_parents(struct choice *c)
{
    char text[ADDR_TEXT_MAX];

    if (c->request->user.len > 0)
        add_hashed(c, PEER_USERHASH, user_key(c->request, text), HIER_USERHASH_PARENT);
    add_hashed(c, PEER_CARP, SPAN_NONE, HIER_CARP);
    add_hashed(c, PEER_SOURCEHASH, source_key(c->request, text), HIER_SOURCEHASH_PARENT);
    add_robins(c);
    add_in_order(c, false, HIER_FIRSTUP_PARENT);
    add_in_order(c, true, HIER_DEFAULT_PARENT);
    if (c->request->user.len == 0) /* nobody to choose by: any of them */
        add_hashed(c, PEER_USERHASH, SPAN_NONE, HIER_ANY_OLD_PARENT);
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

/* An accelerator goes to its peers: its clients' Host must not choose the address (SSRF) unless allow-direct says so. */
static bool may_go_direct(const struct settings *s, const struct request *r)
{
    if (!r->accel)
        return !says_allow(s->never_direct, r, false, true);
    for (size_t i = 0; i < s->n_ports; i++)
        if (span_eq(span_str(s->ports[i].name), r->port_name) && s->ports[i].allow_direct)
            return true;
    return false;
}

/* Could a cache have an answer? */
static bool is_hierarchical(const struct request *r)
{
    return r->method == METHOD_GET || r->method == METHOD_HEAD;
}

size_t peer_routes(struct proxy_worker *pw, struct settings *s, const struct request *r, struct route out[ROUTES_MAX])
{
    struct choice c = { pw, s, r, out, 0, ROUTES_MAX };
    bool direct;

    if (says_allow(s->always_direct, r, false, false)) {
        add(&c, NULL, HIER_DIRECT);
        return c.n;
    }
    direct = may_go_direct(s, r);
    if (direct && s->prefer_direct)
        add(&c, NULL, HIER_DIRECT);
    c.max = ROUTES_MAX - 1;
    if (!direct || is_hierarchical(r) || !s->nonhierarchical_direct)
        add_parents(&c);
    c.max = ROUTES_MAX;
    if (direct && !s->prefer_direct)
        add(&c, NULL, HIER_DIRECT);
    return c.n;
}
