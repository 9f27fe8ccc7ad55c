#include "check_access.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "hdrs/parse.h"
#include "load.h"
#include "net/hosts.h"
#include "proxy/error_text.h"
#include "proxy/request.h"
#include "proxy/request_access.h"

#define ADDRS_MAX 32
#define CANT_TELL 2

struct question {
    const struct options *o;
    struct settings *settings;
    struct strbuf text; /* the request's head, as a client would send it */
    struct head head;
    char uri[32768];
    struct request request;
    struct notes *notes, *client_notes; /* what the lines annotate */
    struct addr dst[ADDRS_MAX];
    size_t n_dst;
    struct hosts *hosts;
    char names[REQUEST_NAMES][HOST_NAME_MAX_LEN + 1];
    struct strbuf out;
    bool any_line;
};

static int cant(const char *what, const char *why)
{
    fprintf(stderr, "loligo: check-access: %s: %s\n", what, why);
    return CANT_TELL;
}

/* --- the request, through the same code as one from a client ------------------------------------------------------ */

/* host[:port] of an absolute URL or of CONNECT's target; for a path alone, as accelerator ports get, our own name. */
static struct span authority_of(const struct question *q, const char *url)
{
    const char *from = strstr(url, "://");

    if (url[0] == '/')
        return span_str(q->settings->visible_hostname);

    from = from ? from + 3 : url;
    return span_of(from, strcspn(from, "/?#"));
}

static bool parse_client(const char *text, struct addr *out)
{
    if (addr_parse(span_str(text), out))
        return true;
    cant(text, "not a client's IP address");
    return false;
}

static bool parse_head(struct question *q, const char *method, const char *url)
{
    struct parse_limits limits = {
        .max_bytes = (uint32_t)q->settings->request_header_max_size,
        .max_fields = (uint16_t)q->settings->header_fields_max,
    };
    struct parse_progress progress = { 0 };
    struct parse_error e = { .what = "not one request" };

    sb_printf(&q->text, "%s %s HTTP/1.1\r\nHost: ", method, url);
    sb_span(&q->text, authority_of(q, url));
    sb_str(&q->text, "\r\n\r\n");
    if (parse_request(&q->head, q->text.p, q->text.len, &limits, &progress, &e) == PARSE_DONE &&
        q->head.len == q->text.len)
        return true;
    cant(url, e.what);
    return false;
}

static bool make_request(struct question *q)
{
    const char *method = q->o->arguments[0], *url = q->o->arguments[1];
    struct request_origin from = {
        .settings = q->settings,
        .port = q->settings->ports,
        .client_connections = 1,
        .notes = q->notes,
        .client_notes = q->client_notes,
        .mono = clock_mono_us(),
        .wall = clock_wall_us(),
    };
    enum error_id error;
    const char *what;
    int status;

    if (q->settings->n_ports == 0) {
        cant("http_port", "there is none a request could come through");
        return false;
    }
    from.local = from.port->at;
    if (!parse_client(q->o->n_arguments > 2 ? q->o->arguments[2] : "127.0.0.1", &from.client) ||
        !parse_head(q, method, url))
        return false;
    if (request_from_head(&q->request, &q->head, &from, q->uri, sizeof q->uri, &error, &status, &what))
        return true;
    cant(url, what); /* answered with an error before http_access is asked */
    return false;
}

/* --- addresses of the host, and names of addresses ----------------------------------------------------------------- */

static size_t addresses_of(const struct question *q, struct span name, struct addr out[ADDRS_MAX])
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
    size_t n = hosts_find(q->hosts, name, out, ADDRS_MAX);
    char *host = xspandup(name);

    if (n == 0 && getaddrinfo(host, NULL, &hints, &found) == 0) {
        for (const struct addrinfo *a = found; a != NULL && n < ADDRS_MAX; a = a->ai_next)
            out[n++] = addr_from_sockaddr(a->ai_addr);
        freeaddrinfo(found);
    }
    free(host);
    return n;
}

static void look_up(struct question *q, struct access_facts *f)
{
    q->n_dst = addresses_of(q, q->request.uri.host, q->dst);
    f->dst_known = true;
    f->dst = q->dst;
    f->n_dst = q->n_dst;
}

static enum name_trust trust_of(const struct question *q, struct addr a, struct span name)
{
    struct addr addrs[ADDRS_MAX];
    size_t n = addresses_of(q, name, addrs);

    a.port = 0;
    for (size_t i = 0; i < n; i++) {
        addrs[i].port = 0;
        if (addr_eq(&a, &addrs[i]))
            return NAME_CONFIRMED;
    }
    return NAME_UNCONFIRMED;
}

/* As net/reverse.h does. */
static struct address_name look_up_name(struct question *q, enum request_name which)
{
    const struct addr *a = request_named(&q->request, which);
    struct span name = hosts_name_of(q->hosts, a);
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(a, &sa);
    char *text = q->names[which];

    if (name.len == 0 &&
        getnameinfo((struct sockaddr *)&sa, len, text, sizeof q->names[which], NULL, 0, NI_NAMEREQD) == 0) {
        for (char *c = text; *c != '\0'; c++)
            *c = ascii_lower(*c);
        name = span_str(text);
    }
    if (name.len == 0 || !host_name_is_valid(name))
        return (struct address_name){ true, NAME_NONE, SPAN("") };
    return (struct address_name){ true, trust_of(q, *a, name), name };
}

/* The verdict, with what it takes looked up. */
static struct access_verdict find_out(struct question *q, struct access_facts *f)
{
    struct access_verdict v;

    f->may_ask_names = true;
    for (;;) {
        v = access_check(q->settings->http_access, f);
        if (v.answer == ACCESS_NEED_DST)
            look_up(q, f);
        else if (v.answer == ACCESS_NEED_CLIENT_NAME)
            f->client_name = look_up_name(q, REQUEST_CLIENT);
        else if (v.answer == ACCESS_NEED_HOST_NAME)
            f->host_name = look_up_name(q, REQUEST_HOST);
        else
            return v;
    }
}

/* --- what is said -------------------------------------------------------------------------------------------------- */

static const char *const answers[] = {
    [ACL_NO] = "no",
    [ACL_YES] = "yes",
    [ACL_UNDECIDED] = "undecided",
    [ACL_NEED_LOGIN] = "needs a login",
    [ACL_NEED_DST] = "needs an address",
    [ACL_NEED_USER] = "needs the user",
    [ACL_NEED_EXTERNAL] = "needs a helper program",
    [ACL_NEED_CLIENT_NAME] = "needs the client's name",
    [ACL_NEED_HOST_NAME] = "needs the address's name",
};

static void add_line_text(struct strbuf *out, const struct access_line_seen *line)
{
    sb_str(out, line->allows ? "http_access allow" : "http_access deny");
    for (size_t i = 0; i < line->n; i++) {
        sb_str(out, line->words[i].is_negated ? " !" : " ");
        sb_span(out, line->words[i].name);
    }
}

static void say_line(void *ctx, const struct access_line_seen *line)
{
    struct question *q = ctx;
    struct strbuf *out = &q->out;

    sb_printf(out, "%s: ", line->where);
    add_line_text(out, line);
    sb_str(out, line->decides ? ": matches (" : ": does not match (");
    for (size_t i = 0; i < line->n && line->words[i].is_asked; i++) {
        sb_str(out, i > 0 ? ", " : "");
        sb_span(out, line->words[i].name);
        sb_printf(out, ": %s", answers[line->words[i].answer]);
    }
    sb_str(out, ")\n");
}

/* A string of JSON (RFC 8259 section 7); the configuration may have any bytes. */
static void add_json(struct strbuf *out, struct span text)
{
    sb_char(out, '"');
    error_add_json(out, text);
    sb_char(out, '"');
}

static void add_json_word(struct strbuf *out, const struct access_word_seen *w)
{
    sb_str(out, "{\"acl\":");
    add_json(out, w->name);
    sb_str(out, ",\"type\":");
    add_json(out, span_str(w->type));
    sb_printf(out, ",\"negated\":%s,\"answer\":", w->is_negated ? "true" : "false");
    if (w->is_asked)
        add_json(out, span_str(answers[w->answer]));
    else
        sb_str(out, "null");
    sb_char(out, '}');
}

static void say_line_json(void *ctx, const struct access_line_seen *line)
{
    struct question *q = ctx;
    struct strbuf *out = &q->out, text = { 0 };

    sb_str(out, q->any_line ? ",\n  {\"line\":" : "\n  {\"line\":");
    q->any_line = true;
    add_json(out, span_str(line->where));
    add_line_text(&text, line);
    sb_str(out, ",\"text\":");
    add_json(out, sb_view(&text));
    sb_free(&text);
    sb_printf(out, ",\"matches\":%s,\"acls\":[", line->decides ? "true" : "false");
    for (size_t i = 0; i < line->n; i++) {
        sb_str(out, i > 0 ? "," : "");
        add_json_word(out, &line->words[i]);
    }
    sb_str(out, "]}");
}

static void add_addresses(struct question *q, const char *before, const char *between, const char *quote)
{
    char text[ADDR_TEXT_MAX];

    for (size_t i = 0; i < q->n_dst; i++) {
        addr_print(&q->dst[i], text);
        sb_printf(&q->out, "%s%s%s%s", i > 0 ? between : before, quote, text, quote);
    }
}

static void add_name(struct strbuf *out, const char *before, const struct address_name *n)
{
    if (n->is_known)
        sb_printf(out, "%s%.*s%s", before, SPAN_ARG(n->trust == NAME_NONE ? SPAN("none") : n->name),
                  n->trust == NAME_UNCONFIRMED ? " (not confirmed)" : "");
}

static void say(struct question *q, const struct access_facts *f)
{
    struct strbuf *out = &q->out;
    struct access_verdict v;
    char client[ADDR_TEXT_MAX];
    const char *word;

    addr_print(&f->client, client);
    sb_span(out, f->method_name);
    sb_char(out, ' ');
    sb_span(out, f->url);
    sb_printf(out, " from %s", client);
    if (f->user.len > 0)
        sb_printf(out, ", user %.*s", SPAN_ARG(f->user));
    add_name(out, ", called ", &f->client_name);
    add_addresses(q, ", to ", " ", "");
    add_name(out, ", to what is called ", &f->host_name);
    sb_char(out, '\n');
    v = access_explain(q->settings->http_access, f, say_line, q);
    word = v.answer == ACCESS_ALLOWED ? "allowed" : v.answer == ACCESS_NEED_LOGIN ? "asked for a login" : "denied";
    if (strcmp(v.where, "default") == 0)
        sb_printf(out, "%s: no line matches, so it is the opposite of the last one's action, or denied without any\n",
                  word);
    else
        sb_printf(out, "%s by %s\n", word, v.where);
}

static void say_json(struct question *q, const struct access_facts *f)
{
    struct strbuf *out = &q->out, lines;
    struct access_verdict v;
    char client[ADDR_TEXT_MAX];

    addr_print(&f->client, client);
    v = access_explain(q->settings->http_access, f, say_line_json, q);
    lines = *out;
    *out = (struct strbuf){ 0 };
    sb_printf(out, "{\"verdict\":\"%s\",\"decided_by\":",
              v.answer == ACCESS_ALLOWED      ? "allow"
              : v.answer == ACCESS_NEED_LOGIN ? "login"
                                              : "deny");
    add_json(out, span_str(v.where));
    sb_str(out, ",\"method\":");
    add_json(out, f->method_name);
    sb_str(out, ",\"url\":");
    add_json(out, f->url);
    sb_printf(out, ",\"client\":\"%s\",\"user\":", client);
    if (f->user.len > 0)
        add_json(out, f->user);
    else
        sb_str(out, "null");
    sb_str(out, ",\"addresses\":[");
    add_addresses(q, "", ",", "\"");
    sb_str(out, "],\n \"lines\":[");
    sb_add(out, lines.p, lines.len);
    sb_str(out, "]}\n");
    sb_free(&lines);
}

static int answer(struct question *q)
{
    struct access_facts f;
    struct access_verdict v;

    request_facts(&q->request, &f);
    /* Names that are in lower case here were made so; any case is what auth_param basic starts with. */
    f.user = q->o->n_arguments > 3 ? span_str(q->o->arguments[3]) : SPAN_NONE;
    f.user_state = f.user.len > 0 ? USER_KNOWN : USER_ABSENT;
    f.user_any_case = !q->settings->auth.schemes[AUTH_BASIC].case_sensitive;
    q->hosts = hosts_read(q->settings->hosts_file);
    v = find_out(q, &f);
    if (q->o->json)
        say_json(q, &f);
    else
        say(q, &f);
    if (fwrite(q->out.p, 1, q->out.len, stdout) != q->out.len || fflush(stdout) != 0)
        return cant("standard output", "can't be written");
    return v.answer == ACCESS_ALLOWED ? 0 : 1;
}

int check_access(const struct options *o)
{
    struct conf_report report = { .say = load_say_errors };
    struct question *q = xcalloc(1, sizeof *q); /* too large for a stack */
    int status = CANT_TELL;

    hash_init();
    q->o = o;
    q->notes = notes_new();
    q->client_notes = notes_new();
    if ((q->settings = load_settings(o, &report)) == NULL)
        load_summary(o, &report);
    else if (make_request(q))
        status = answer(q);
    free(q->request.externals);
    settings_unref(&q->settings);
    notes_unref(&q->notes);
    notes_unref(&q->client_notes);
    hosts_free(&q->hosts);
    sb_free(&q->text);
    sb_free(&q->out);
    free(q);
    return status;
}
