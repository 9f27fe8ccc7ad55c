/* http_port [address:]port [options] */
#include <netdb.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"

static const char *const option_words[] = {
    "accel",
    "defaultsite=",
    "vhost",
    "no-vhost",
    "vport",
    "vport=",
    "name=",
    "allow-direct",
    "ignore-cc",
    "tcpkeepalive",
    "tcpkeepalive=",
    "disable-pmtu-discovery=",
    "connection-auth",
    "connection-auth=",
    "protocol=",
    "require-proxy-header",
    NULL,
};

/* What would change who may connect, or what is looked at on the way. */
static const struct {
    const char *name; /* a trailing = or - stands for any that begin so */
    const char *why;
} refused[] = {
    { "intercept",
      "redirected connections are not supported yet; tell clients of the proxy, by settings or a PAC file" },
    { "transparent",
      "redirected connections are not supported yet; tell clients of the proxy, by settings or a PAC file" },
    { "tproxy", "redirected connections are not supported yet; tell clients of the proxy, by settings or a PAC file" },
    { "ssl-bump", "decrypting TLS is not supported; take it out, tunnels pass as they are" },
    { "sslBump", "decrypting TLS is not supported; take it out, tunnels pass as they are" },
    { "generate-host-certificates", "decrypting TLS is not supported; take it out, tunnels pass as they are" },
    { "generate-host-certificates=", "decrypting TLS is not supported; take it out, tunnels pass as they are" },
    { "dynamic_cert_mem_cache_size=", "decrypting TLS is not supported; take it out, tunnels pass as they are" },
    { "tls-", "TLS to clients is not supported yet" },
    { "cert=", "TLS to clients is not supported yet" },
    { "key=", "TLS to clients is not supported yet" },
    { "cipher=", "TLS to clients is not supported yet" },
    { "clientca=", "TLS to clients is not supported yet" },
    { "act-as-origin", "it is not supported yet; take it out" },
};

static bool is_refused(struct span word, const char *pattern)
{
    size_t n = strlen(pattern);
    bool any_rest = pattern[n - 1] == '=' || pattern[n - 1] == '-';

    return any_rest ? word.len >= n && memcmp(word.p, pattern, n) == 0 : span_eq(word, span_str(pattern));
}

/* The first address of a name; names in a port are resolved once, here. */
static bool resolve_name(const struct reading *r, struct span name, struct addr *out, const char **why)
{
    char *text = xspandup(name);
    struct addrinfo hints = { .ai_flags = AI_PASSIVE | (r->closed ? AI_NUMERICHOST : 0), .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    int error = memchr(text, '\0', name.len) == NULL ? getaddrinfo(text, NULL, &hints, &found) : EAI_NONAME;

    free(text);
    *why = error != 0 ? gai_strerror(error) : "it has no IP address";
    out->family = 0;
    if (error == 0) {
        *out = addr_from_sockaddr(found->ai_addr);
        freeaddrinfo(found);
    }
    return out->family != 0;
}

/* What stands where the port should: it may be missing. */
static void say_no_port(struct reading *r, const struct word *w, struct span port)
{
    struct span text = w->text;
    struct place place = w->at;
    struct addr a;

    if (addr_parse(text, &a) || (port.len == text.len && text.len > 0 && (text.p[0] < '0' || text.p[0] > '9'))) {
        diag_error(r->report, place, NULL, "'%.*s' has no port: ADDRESS:PORT is wanted, such as %.*s:3128",
                   QUOTED_ARG(text), QUOTED_ARG(text));
        return;
    }
    place.column += (unsigned)(w->quoted ? 0 : port.p - text.p);
    diag_error(r->report, place, NULL, "'%.*s' is no port: 1 to 65535 are", QUOTED_ARG(port));
}

static bool read_address(struct reading *r, const struct word *w, struct addr *at)
{
    struct span text = w->text, host = SPAN_NONE, port = text;
    const char *colon = text.len > 0 ? memrchr(text.p, ':', text.len) : NULL, *why;
    uint16_t number;

    if (colon != NULL) {
        host = span_of(text.p, (size_t)(colon - text.p));
        port = span_of(colon + 1, (size_t)(text.p + text.len - colon) - 1);
    }
    if (!port_number(port, &number)) {
        say_no_port(r, w, port);
        return false;
    }
    if (host.len == 0) {
        *at = (struct addr){ .family = AF_INET6 }; /* any address of either family */
    } else if (memchr(host.p, ':', host.len) != NULL && host.p[0] != '[') {
        diag_error(r->report, w->at, NULL, "an IPv6 address before a port is written in brackets: [%.*s]:%.*s",
                   QUOTED_ARG(host), QUOTED_ARG(port));
        return false;
    } else if (!addr_parse(host, at) && !resolve_name(r, host, at, &why)) {
        diag_error(r->report, w->at, NULL, "can't resolve '%.*s': %s", QUOTED_ARG(host), why);
        return false;
    }
    at->port = number;
    return true;
}

/* tcpkeepalive[=idle,interval,timeout] */
static bool read_keepalive(struct port_setting *p, struct span value)
{
    int *const to[] = { &p->keepalive_idle, &p->keepalive_interval, &p->keepalive_timeout };

    for (size_t i = 0; i < 3; i++) {
        const char *comma = memchr(value.p, ',', value.len);
        struct span number = span_of(value.p, comma ? (size_t)(comma - value.p) : value.len);
        int64_t seconds;

        if (value_count(number, 0, 86400, &seconds) != VALUE_OK)
            return false;
        *to[i] = (int)seconds;
        if (comma == NULL)
            return true;
        value = span_of(comma + 1, value.len - number.len - 1);
    }
    return false; /* a fourth number */
}

struct port_reading {
    struct port_setting *port;
    bool no_vhost;
    const struct word *accel_only; /* an option that means nothing without accel */
};

/* The options that carry no value or a free one. False: it is none of these. */
static bool read_known_option(struct port_reading *in, const struct word *w)
{
    struct port_setting *p = in->port;
    struct span value;
    int64_t number;

    if (span_eq(w->text, SPAN("accel"))) {
        p->accel = true;
    } else if (span_eq(w->text, SPAN("vhost"))) {
        p->vhost = true;
        in->accel_only = w;
    } else if (span_eq(w->text, SPAN("no-vhost"))) {
        in->no_vhost = true;
        in->accel_only = w;
    } else if (span_eq(w->text, SPAN("vport"))) {
        p->vport = p->at.port;
        in->accel_only = w;
    } else if (option_is(w->text, "vport", &value) && value_count(value, 1, 65535, &number) == VALUE_OK) {
        p->vport = (int)number;
        in->accel_only = w;
    } else if (option_is(w->text, "defaultsite", &value) && value.len > 0) {
        free(p->defaultsite);
        p->defaultsite = xspandup(value);
        in->accel_only = w;
    } else if (span_eq(w->text, SPAN("allow-direct"))) {
        p->allow_direct = true;
        in->accel_only = w;
    } else if (span_eq(w->text, SPAN("ignore-cc"))) {
        p->ignore_cc = true;
        in->accel_only = w;
    } else if (span_eq(w->text, SPAN("require-proxy-header"))) {
        p->require_proxy = true;
    } else if (option_is(w->text, "name", &value) && value.len > 0) {
        free(p->name);
        p->name = xspandup(value);
    } else if (span_eq(w->text, SPAN("tcpkeepalive"))) {
        p->tcp_keepalive = true;
    } else if (option_is(w->text, "tcpkeepalive", &value) && read_keepalive(p, value)) {
        p->tcp_keepalive = true;
    } else if (option_is(w->text, "protocol", &value) && span_eq_nocase(value, SPAN("http"))) {
        ; /* the only one there is */
    } else if (option_is(w->text, "disable-pmtu-discovery", &value) || option_is(w->text, "connection-auth", &value) ||
               span_eq(w->text, SPAN("connection-auth"))) {
        ; /* nothing here hangs on them */
    } else {
        return false;
    }
    return true;
}

static void read_option(struct reading *r, struct port_reading *in, const struct word *w)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (is_refused(w->text, refused[i].name)) {
            diag_error(r->report, w->at, NULL, "http_port option '%.*s': %s", QUOTED_ARG(w->text), refused[i].why);
            return;
        }
    if (!read_known_option(in, w))
        diag_error(r->report, w->at, similar_word(option_words, w->text),
                   "unknown http_port option or bad value '%.*s'", QUOTED_ARG(w->text));
}

static void parse_port(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct port_reading in = { 0 };
    struct addr at;

    (void)d;
    if (!read_address(r, &l->words[1], &at))
        return;
    for (size_t i = 0; i < s->n_ports; i++)
        if (addr_eq(&s->ports[i].at, &at)) {
            diag_error(r->report, l->words[1].at, NULL, "http_port %.*s is there already",
                       QUOTED_ARG(l->words[1].text));
            return;
        }
    in.port = ARRAY_PUSH(s->ports, s->n_ports);
    in.port->at = at;
    in.port->name = xspandup(l->words[1].text);
    for (size_t i = 2; i < l->n; i++)
        read_option(r, &in, &l->words[i]);
    if (in.accel_only != NULL && !in.port->accel)
        diag_error(r->report, in.accel_only->at, NULL, "http_port option '%.*s' needs accel as well",
                   QUOTED_ARG(in.accel_only->text));
    /* A reverse proxy goes by Host unless it was told not to, as Squid's does since 3.2. */
    in.port->vhost = in.port->accel && !in.no_vhost;
}

static void print_port(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    char text[ADDR_TEXT_MAX];

    for (size_t i = 0; i < s->n_ports; i++) {
        const struct port_setting *p = &s->ports[i];

        addr_print_port(&p->at, text);
        sb_printf(out, "%s %s name=%s", d->name, text, p->name);
        if (p->accel)
            sb_printf(out, " accel%s", p->vhost ? " vhost" : " no-vhost");
        if (p->defaultsite != NULL)
            sb_printf(out, " defaultsite=%s", p->defaultsite);
        if (p->vport != 0)
            sb_printf(out, " vport=%d", p->vport);
        if (p->allow_direct)
            sb_str(out, " allow-direct");
        if (p->ignore_cc)
            sb_str(out, " ignore-cc");
        if (p->require_proxy)
            sb_str(out, " require-proxy-header");
        if (p->tcp_keepalive)
            sb_printf(out, " tcpkeepalive=%d,%d,%d", p->keepalive_idle, p->keepalive_interval, p->keepalive_timeout);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_port = { parse_port, print_port };
