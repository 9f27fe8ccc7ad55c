#include "proxy/request.h"

#include <stdlib.h>
#include "base/mem.h"
#include "hdrs/field_list.h"
#include "hdrs/field_number.h"
#include "proxy/request_loop.h"

#define MANAGER_PATH SPAN("/squid-internal-mgr/")

/* PAGE[@password][?query]; rest is the end of uri.path, and that of uri.text. */
static void split_page(struct request *r, struct span rest)
{
    const char *q = rest.len ? memchr(rest.p, '?', rest.len) : NULL;
    const char *at;

    if (q != NULL)
        rest.len = (size_t)(q - rest.p);
    at = rest.len ? memchr(rest.p, '@', rest.len) : NULL;
    r->page = rest;
    r->page_password = SPAN_NONE;
    if (at != NULL) {
        r->page.len = (size_t)(at - rest.p);
        r->page_password = span_of(at + 1, rest.len - r->page.len - 1);
        /* M05: no password in any log */
        r->uri.text.len = (size_t)(at - r->uri.text.p);
        r->uri.path.len = (size_t)(at - r->uri.path.p);
    }
}

/* The path's part behind /squid-internal-mgr/, when this request is for us. Origin-form on a forwarding port can mean
 * nobody else; otherwise the host must be our own name and port (M02: another host's URL is that host's). */
static void find_manager(struct request *r, const struct uri *u, const struct request_origin *o)
{
    struct span path = r->uri.path;

    if (path.len < MANAGER_PATH.len || !span_eq(span_of(path.p, MANAGER_PATH.len), MANAGER_PATH))
        return;
    r->is_manager = true;
    if ((u->form == URI_ORIGIN && !o->port->accel) ||
        (settings_is_own_name(o->settings, r->uri.host) && r->uri.port == o->local.port)) {
        r->is_internal = true;
        split_page(r, span_of(path.p + MANAGER_PATH.len, path.len - MANAGER_PATH.len));
    }
}

struct effective { /* the pieces the canonical URI is made of */
    struct span scheme, host, path;
    bool ipv6;
    uint16_t port;
    bool says_port; /* of a Host field: it has one */
};

/* HTTP/1.1 needs exactly one Host, valid (RFC 9112 section 3.2); HTTP/1.0 may have none. `judged` is the target's
 * authority: a Host that repeats it, as it has to, is as good. */
static bool read_host(const struct head *h, struct span judged, struct effective *e, bool *present, const char **what)
{
    const struct head_field *f = head_find(h, TOKEN_HOST);

    *present = f != NULL;
    if (f == NULL) {
        *what = "HTTP/1.1 request without Host";
        return h->minor_version == 0;
    }
    if (head_next(h, f) != NULL) {
        *what = "more than one Host field";
        return false;
    }
    if (field_value(h, f).len == 0) {
        *what = "empty Host field";
        return false;
    }
    if (judged.len > 0 && span_eq(field_value(h, f), judged))
        return true;
    if (!authority_parse(field_value(h, f), &e->host, &e->ipv6, &e->port, &e->says_port, what))
        return false;
    if (!e->says_port)
        e->port = 80;
    return true;
}

static struct span without_dot(struct span host)
{
    return host.len > 1 && host.p[host.len - 1] == '.' ? span_of(host.p, host.len - 1) : host;
}

/* host_verify_strict: does Host, as read_host() found it, name what the target does? A target without a host has nothing to
 * disagree with, and a Host without a port means the scheme's, of which a tunnel has none. */
static bool host_agrees(const struct request *r, const struct uri *u, const struct effective *host)
{
    if (u->authority.len == 0 || host->host.len == 0)
        return true;
    return host->ipv6 == u->host_is_ipv6 && span_eq_nocase(without_dot(host->host), without_dot(u->host)) &&
           (host->port == u->port || (r->method == METHOD_CONNECT && !host->says_port));
}

/* False with *error and *what. */
static bool host_verified(const struct request *r, const struct uri *u, const struct effective *host,
                          const struct request_origin *o, enum error_id *error, const char **what)
{
    if (!o->settings->host_verify_strict || host_agrees(r, u, host))
        return true;
    *error = ERR_CONFLICT_HOST;
    *what = "Host names another host or port than the URL (host_verify_strict on)";
    return false;
}

static bool accel_authority(const struct request_origin *o, bool host_present, struct effective *e, const char **what)
{
    bool has_port;

    /* vhost: the client's Host chooses the site; without it the site is defaultsite's, whatever Host says. */
    if (host_present && (o->port->vhost || o->port->defaultsite == NULL)) {
        if (o->port->vport != 0)
            e->port = (uint16_t)o->port->vport;
        return true;
    }
    if (o->port->defaultsite == NULL) {
        *what = "no Host field, and this port has no defaultsite";
        return false;
    }
    if (!authority_parse(span_str(o->port->defaultsite), &e->host, &e->ipv6, &e->port, &has_port, what))
        return false;
    if (!has_port)
        e->port = 80;
    return true;
}

static bool effective_uri(struct request *r, const struct uri *u, const struct request_origin *o, struct effective *e,
                          enum error_id *error, const char **what)
{
    struct effective from_host = { .scheme = SPAN("http"), .port = 80 };
    bool present;

    *error = ERR_INVALID_REQ;
    if (!read_host(r->head, u->authority, &from_host, &present, what))
        return false;
    if (u->form == URI_ABSOLUTE) { /* absolute-form wins over Host (RFC 9112 section 3.2.2) */
        *e = (struct effective){ u->scheme, u->host, u->path, u->host_is_ipv6, u->port, false };
        if (!span_eq_nocase(u->scheme, SPAN("http"))) {
            *error = ERR_UNSUP_REQ;
            *what = "only http:// and CONNECT are forwarded so far";
            return false;
        }
        return host_verified(r, u, &from_host, o, error, what);
    }
    *e = from_host;
    e->path = u->form == URI_ASTERISK ? SPAN("/") : u->path;
    if (o->port->accel)
        return accel_authority(o, present, e, what);
    if (u->form == URI_ASTERISK || span_starts_nocase(u->path, MANAGER_PATH)) {
        r->stops_here = u->form == URI_ASTERISK;
        e->host = span_str(o->settings->visible_hostname);
        e->ipv6 = false;
        e->port = o->local.port;
        return true;
    }
    *error = ERR_INVALID_URL;
    *what = "a proxy needs the whole URL, starting with http://";
    return false;
}

/* cache_object://HOST/PAGE, the old manager form. */
static bool cache_object(struct request *r, struct span target, const struct request_origin *o, char *text,
                         size_t capacity)
{
    struct span prefix = SPAN("cache_object://"), path = SPAN("/");
    const char *slash;

    if (!span_starts_nocase(target, prefix) || target.len > capacity)
        return false;
    memcpy(text, target.p, target.len);
    r->uri.text = span_of(text, target.len);
    r->uri.scheme = SPAN("cache_object");
    r->uri.host = span_of(text + prefix.len, target.len - prefix.len);
    slash = memchr(r->uri.host.p, '/', r->uri.host.len);
    if (slash != NULL) {
        size_t n = (size_t)(slash - r->uri.host.p);

        path = span_of(slash, r->uri.host.len - n);
        r->uri.host.len = n;
    }
    r->uri.authority = r->uri.host;
    r->uri.path = path;
    r->uri.port = o->local.port;
    r->is_manager = r->is_internal = true;
    split_page(r, span_of(path.p + 1, path.len - 1));
    return true;
}

static bool connect_target(struct request *r, const struct uri *u, char *text, size_t capacity)
{
    /* The scheme is only there to be made canonical with; port 0 is no scheme's default, so it is always written. */
    if (!uri_canonical(SPAN("connect"), u->host, u->host_is_ipv6, u->port, SPAN("/"), text, capacity, &r->uri))
        return false;
    r->uri.scheme = SPAN("");
    r->uri.path = SPAN("");
    r->uri.text = r->uri.authority;
    return true;
}

/* check_hostnames; all but the underscore is always seen to (hdrs/authority.c). */
static bool host_admitted(const struct request *r, const struct settings *s, const char **what)
{
    if (!s->check_hostnames || s->allow_underscore || memchr(r->uri.host.p, '_', r->uri.host.len) == NULL)
        return true;
    *what = "an underscore in the host's name (allow_underscore off)";
    return false;
}

static bool understand_target(struct request *r, struct span target, const struct request_origin *o, char *text,
                              size_t capacity, enum error_id *error, const char **what)
{
    struct effective e = { .port = 0 };
    struct uri u;

    if (cache_object(r, target, o, text, capacity))
        return true;
    *error = ERR_INVALID_URL;
    if (!uri_parse(target, r->method, &u, what))
        return false;
    if (u.had_userinfo) {
        *what = "user name or password in the URL";
        return false;
    }
    *what = "URL too long";
    if (r->method == METHOD_CONNECT) {
        struct effective from_host = { .port = 0 };
        bool present;

        if (!connect_target(r, &u, text, capacity))
            return false;
        if (!host_admitted(r, o->settings, what))
            return false;
        *error = ERR_INVALID_REQ;
        if (o->port->accel) {
            *what = "CONNECT to an accelerator port";
            return false;
        }
        return read_host(r->head, u.authority, &from_host, &present, what) &&
               host_verified(r, &u, &from_host, o, error, what);
    }
    if (!effective_uri(r, &u, o, &e, error, what))
        return false;
    r->asterisk = u.form == URI_ASTERISK || (r->method == METHOD_OPTIONS && u.form == URI_ABSOLUTE && u.path.len == 0);
    *what = "URL too long";
    *error = ERR_INVALID_URL;
    if (!uri_canonical(e.scheme, e.host, e.ipv6, e.port, e.path, text, capacity, &r->uri) ||
        !host_admitted(r, o->settings, what))
        return false;
    r->key = hash128(r->uri.text.p, r->uri.text.len);
    find_manager(r, &u, o);
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* uri_whitespace: what is made of a target with blanks. The caller frees it. */
static struct strbuf without_blanks(struct span target, enum uri_whitespace how)
{
    struct strbuf out = { 0 };

    for (size_t i = 0; i < target.len && !(how == URI_WHITESPACE_CHOP && is_blank(target.p[i])); i++)
        if (!is_blank(target.p[i]))
            sb_char(&out, target.p[i]);
        else if (how == URI_WHITESPACE_ENCODE)
            sb_str(&out, target.p[i] == ' ' ? "%20" : "%09");
    return out;
}

static bool read_target(struct request *r, const struct request_origin *o, char *text, size_t capacity,
                        enum error_id *error, const char **what)
{
    struct span target = head_piece(r->head, r->head->target);
    struct strbuf clean;
    bool good;

    if (o->settings->uri_whitespace == URI_WHITESPACE_DENY ||
        (memchr(target.p, ' ', target.len) == NULL && memchr(target.p, '\t', target.len) == NULL))
        return understand_target(r, target, o, text, capacity, error, what);
    clean = without_blanks(target, o->settings->uri_whitespace);
    good = understand_target(r, sb_view(&clean), o, text, capacity, error, what); /* keeps nothing of it */
    sb_free(&clean);
    return good;
}

bool request_has_body(const struct request *r)
{
    return r->framing.kind != FRAMING_NONE && !(r->framing.kind == FRAMING_LENGTH && r->framing.length == 0);
}

bool request_expects_continue(const struct request *r)
{
    return r->minor_version && head_find(r->head, TOKEN_EXPECT) != NULL &&
           (r->framing.kind == FRAMING_CHUNKED || (r->framing.kind == FRAMING_LENGTH && r->framing.length > 0));
}

/* RFC 9110 section 7.6.2. */
static bool read_max_forwards(struct request *r, const char **what)
{
    const struct head_field *f = head_find(r->head, TOKEN_MAX_FORWARDS);
    uint64_t n;

    if (f == NULL)
        return true;
    *what = "malformed Max-Forwards";
    if (head_next(r->head, f) != NULL || !number_parse(field_value(r->head, f), &n))
        return false;
    r->stops_here |= n == 0;
    return true;
}

static void find_address(struct request *r)
{
    if (r->uri.host.len > 0 && (r->uri.host_is_ipv6 || (r->uri.host.p[r->uri.host.len - 1] <= '9')))
        (void)addr_parse(r->uri.host, &r->host_addr);
}

bool request_from_head(struct request *r, const struct head *h, const struct request_origin *o, char *text,
                       size_t capacity, enum error_id *error, int *status, const char **what)
{
    const struct head_field *expect;

    r->head = h;
    r->original = NULL;
    r->store_id = NULL;
    r->method = (enum http_method)h->method;
    r->uri = (struct canonical_uri){ 0 };
    r->is_manager = r->is_internal = r->stops_here = r->asterisk = false;
    r->keep_alive = false;
    r->minor_version = h->minor_version != 0;
    r->client = o->client;
    r->indirect.family = 0;
    r->acl_indirect = r->log_indirect = false;
    r->local = o->local;
    r->port_name = span_str(o->port->name);
    r->accel = o->port->accel;
    r->ignore_cc = o->port->ignore_cc;
    r->start_mono = o->mono;
    r->start_wall = o->wall;
    r->bytes_in = h->len;
    r->host_addr.family = 0;
    r->draw = request_draw();
    r->client_connections = o->client_connections;
    r->host_as_sent = false;
    r->notes = o->notes;
    r->client_notes = o->client_notes;
    r->externals = NULL;
    r->access_line = NULL;
    r->user_state = USER_UNKNOWN;
    r->user = SPAN_NONE;
    r->user_addresses = 0;
    r->user_table = NULL;
    r->user_any_case = r->user_stale = r->user_unchecked = false;
    r->user_problem = NULL;
    r->user_text = r->user_token = NULL;
    r->connection = o->connection;
    for (int i = 0; i < REQUEST_NAMES; i++) {
        r->names[i] = (struct address_name){ .is_known = false };
        r->name_texts[i] = NULL;
    }
    r->text = NULL;
    *error = ERR_INVALID_REQ;
    r->framing = request_framing(h);
    if (r->framing.kind == FRAMING_BAD) {
        *status = r->framing.status;
        *what = r->framing.what;
        return false;
    }
    *status = 400;
    if (!o->settings->request_entities && (r->method == METHOD_GET || r->method == METHOD_HEAD) &&
        request_has_body(r)) {
        *what = "a body in a GET or HEAD request (request_entities off)";
        return false;
    }
    if (!read_target(r, o, text, capacity, error, what)) {
        if (*error == ERR_UNSUP_REQ)
            *status = 501;
        else if (*error == ERR_CONFLICT_HOST)
            *status = 409;
        return false;
    }
    expect = head_find(h, TOKEN_EXPECT);
    if (expect != NULL && !span_eq_nocase(field_value(h, expect), SPAN("100-continue"))) {
        *error = ERR_INVALID_REQ;
        *status = 417;
        *what = "an expectation other than 100-continue";
        return false;
    }
    if ((r->method == METHOD_TRACE || r->method == METHOD_OPTIONS) && !read_max_forwards(r, what)) {
        *error = ERR_INVALID_REQ;
        return false;
    }
    if (request_loops(h, span_str(settings_unique_name(o->settings)))) {
        *error = ERR_ACCESS_DENIED;
        *status = 403;
        *what = "forwarding loop: this proxy's own name stands in Via already";
        return false;
    }
    find_address(r);
    r->cc = cache_control_parse(h, true);
    r->keep_alive = r->framing.keep_alive && o->settings->client_persistent_connections && !o->is_last;
    return true;
}

static struct span rebase(struct span s, const char *from, const char *to, size_t len)
{
    /* Constants ("", "http") stay as they are. */
    if (s.p == NULL || (uintptr_t)s.p < (uintptr_t)from || (uintptr_t)s.p > (uintptr_t)from + len)
        return s;
    return span_of(to + ((uintptr_t)s.p - (uintptr_t)from), s.len);
}

/* k's names are still another one's. */
static void keep_names(struct request *k)
{
    for (int i = 0; i < REQUEST_NAMES; i++) {
        k->name_texts[i] = NULL;
        if (k->names[i].is_known)
            request_set_name(k, (enum request_name)i, k->names[i].trust, k->names[i].name);
    }
}

struct span request_store_id(const struct request *r)
{
    return r->store_id != NULL ? span_str(r->store_id) : r->uri.text;
}

struct request *request_keep(const struct request *r)
{
    struct request *k = xmalloc(sizeof *k);
    /* Everything uri and page point to lies between the start of the text and its end, or that of the password behind
     * it. */
    const char *from = r->uri.text.p, *end = r->uri.text.p + r->uri.text.len;
    size_t len;

    if (r->is_internal && r->page_password.p != NULL)
        end = r->page_password.p + r->page_password.len;
    len = from ? (size_t)(end - from) : 0;
    *k = *r;
    k->refs = 1;
    if (r->externals != NULL) {
        k->externals = xmalloc(sizeof *k->externals);
        *k->externals = *r->externals;
    }
    (void)notes_ref(k->notes);
    (void)notes_ref(k->client_notes);
    if (k->original != NULL)
        (void)request_ref(k->original);
    k->head = head_copy(r->head);
    k->text = xmalloc(len + r->port_name.len + 1);
    if (from != NULL) {
        memcpy(k->text, from, len);
        k->uri.text = rebase(r->uri.text, from, k->text, len);
        k->uri.scheme = rebase(r->uri.scheme, from, k->text, len);
        k->uri.host = rebase(r->uri.host, from, k->text, len);
        k->uri.authority = rebase(r->uri.authority, from, k->text, len);
        k->uri.path = rebase(r->uri.path, from, k->text, len);
    }
    k->page = k->page_password = SPAN_NONE;
    if (r->is_internal) {
        k->page = rebase(r->page, from, k->text, len);
        k->page_password = rebase(r->page_password, from, k->text, len);
    }
    k->store_id = r->store_id != NULL ? xstrdup(r->store_id) : NULL;
    k->user_text = k->user_token = NULL;
    request_set_user(k, r->user, SPAN_NONE);
    keep_names(k);
    k->cc = cache_control_parse(k->head, true); /* its spans point into the head */
    if (r->port_name.len > 0)
        memcpy(k->text + len, r->port_name.p, r->port_name.len);
    k->port_name = span_of(k->text + len, r->port_name.len);
    return k;
}

void request_set_user(struct request *r, struct span user, struct span token)
{
    if (r->refs == 0) {
        r->user = user;
        return;
    }
    free(r->user_text);
    r->user_text = user.len > 0 ? xspandup(user) : NULL;
    r->user = span_of(r->user_text, user.len);
    free(r->user_token);
    r->user_token = token.len > 0 ? xspandup(token) : NULL;
}

void request_set_name(struct request *r, enum request_name which, enum name_trust trust, struct span name)
{
    struct address_name *n = &r->names[which];

    *n = (struct address_name){ true, trust, name };
    if (r->refs == 0)
        return;
    free(r->name_texts[which]);
    r->name_texts[which] = name.len > 0 ? xspandup(name) : NULL;
    n->name = span_of(r->name_texts[which], name.len);
}

const struct addr *request_named(const struct request *r, enum request_name which)
{
    return which == REQUEST_CLIENT ? request_acl_client(r) : &r->host_addr;
}

static bool other_uri(struct request *r, struct span url, char *text, size_t capacity, const char **what)
{
    struct uri u;

    if (!uri_parse(url, r->method, &u, what))
        return false;
    if (u.had_userinfo) {
        *what = "user name or password in the URL";
        return false;
    }
    *what = "URL too long";
    if (r->method == METHOD_CONNECT)
        return connect_target(r, &u, text, capacity);
    if (u.form != URI_ABSOLUTE || !span_eq_nocase(u.scheme, SPAN("http"))) {
        *what = "no URL of http://";
        return false;
    }
    return uri_canonical(u.scheme, u.host, u.host_is_ipv6, u.port, u.path, text, capacity, &r->uri);
}

struct request *request_with_url(const struct request *r, struct span url, bool as_sent, const char **what)
{
    size_t capacity = 4 * url.len + 512;
    char *text = xmalloc(capacity);
    struct request other = *r, *kept = NULL;

    if (other_uri(&other, url, text, capacity, what)) {
        other.key = hash128(other.uri.text.p, other.uri.text.len);
        other.host_as_sent = as_sent;
        other.host_addr.family = 0;
        other.names[REQUEST_HOST].is_known = false;
        other.asterisk = false;
        other.externals = NULL; /* what was asked about the other URL; external.h */
        find_address(&other);
        kept = request_keep(&other);
    }
    free(text);
    return kept;
}

struct request *request_ref(struct request *r)
{
    r->refs++;
    return r;
}

void request_unref(struct request **holder)
{
    struct request *r = *holder;

    *holder = NULL;
    if (r == NULL || --r->refs > 0)
        return;
    free((void *)(uintptr_t)r->head);
    notes_unref(&r->notes);
    notes_unref(&r->client_notes);
    request_unref(&r->original);
    free(r->externals);
    free(r->user_text);
    free(r->user_token);
    for (int i = 0; i < REQUEST_NAMES; i++)
        free(r->name_texts[i]);
    free(r->store_id);
    free(r->text);
    free(r);
}

uint64_t request_draw(void)
{
    static _Thread_local uint64_t last;

    return ++last;
}

void request_facts(const struct request *r, struct access_facts *f)
{
    *f = (struct access_facts){
        .client = *request_acl_client(r),
        .local = r->local,
        .port_name = r->port_name,
        .method = r->method,
        .method_name = head_piece(r->head, r->head->method_name),
        .scheme = r->uri.scheme,
        .host = r->uri.host,
        .host_is_address = r->host_addr.family != 0,
        .host_addr = r->host_addr,
        .port = r->uri.port,
        .url = r->uri.text,
        .path = r->uri.path,
        .is_manager = r->is_manager,
        .request = r->head,
        .client_name = r->names[REQUEST_CLIENT],
        .host_name = r->names[REQUEST_HOST],
        .draw = r->draw,
        .client_connections = r->client_connections,
        .notes = r->notes,
        .client_notes = r->client_notes,
        .externals = (struct external_memo **)(uintptr_t)&r->externals,
        .user_state = r->user_state,
        .user = r->user_state == USER_KNOWN ? r->user : SPAN_NONE,
        .user_any_case = r->user_any_case,
        .user_addresses = r->user_addresses,
        .user_table = r->user_table,
        /* Every member stands here, those that are zero too: else the compiler clears all 416 bytes first, with an
         * instruction that takes 10 ns to start, and a hit has 20 for its access rules (bench_lists rules). */
        .dst_known = false,
        .dst = NULL,
        .n_dst = 0,
        .may_ask_names = false,
        .reply_head = SPAN_NONE,
        .status = 0,
        .hier = SPAN_NONE,
        .peer_name = SPAN_NONE,
        .error_name = SPAN_NONE,
    };
}

const struct addr *request_acl_client(const struct request *r)
{
    return r->acl_indirect ? &r->indirect : &r->client;
}

const struct addr *request_log_client(const struct request *r)
{
    return r->log_indirect ? &r->indirect : &r->client;
}

struct span request_log_url(const struct request *r)
{
    return r->uri.text;
}
