#include "proxy/rewrite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "proxy/account.h"
#include "proxy/external.h"
#include "proxy/logformat.h"
#include "proxy/request_access.h"

/* A question's extras. */
#define EXTRAS_MAX 8192

static void ask_next(struct rewrite *w);

/* --- which ------------------------------------------------------------------------------------------------------ */

static bool asks(const struct rewrite_setting *p, const struct request *r)
{
    return p->program.pool != NULL && !r->is_internal && !r->stops_here && request_allowed(p->access, r);
}

static bool asks_for_id(const struct settings *s, const struct request *r)
{
    return (r->method == METHOD_GET || r->method == METHOD_HEAD) && asks(&s->store_id, r);
}

bool rewrite_is_wanted(const struct settings *s, const struct request *r)
{
    return (s->url_rewrite.program.pool != NULL || s->store_id.program.pool != NULL) &&
           (asks(&s->url_rewrite, r) || asks_for_id(s, r));
}

/* --- URLs in answers -------------------------------------------------------------------------------------------- */

/* What may not stand in a URL, and came of decoding, is encoded again: blanks, control characters, and bytes beyond ASCII. */
static void add_url(struct strbuf *out, struct span url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c <= ' ' || c >= 0x7f)
            sb_printf(out, "%%%02X", c);
        else
            sb_char(out, (char)c);
    }
}

/* "302:http://..." of older programs. */
static bool old_redirect(struct span text, int *status, struct span *url)
{
    if (text.len < 5 || text.p[3] != ':' || text.p[0] != '3' || text.p[1] != '0' || text.p[2] < '0' || text.p[2] > '9')
        return false;
    *status = 300 + (text.p[2] - '0');
    *url = span_of(text.p + 4, text.len - 4);
    return true;
}

static bool is_redirect(int status)
{
    return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

static int status_of(struct span text)
{
    return text.len == 3 && text.p[0] == '3' && text.p[1] == '0' && text.p[2] >= '0' && text.p[2] <= '9'
               ? 300 + (text.p[2] - '0')
               : 0;
}

/* --- what an answer makes --------------------------------------------------------------------------------------- */

static void end(struct rewrite *w)
{
    w->program = NULL;
    w->done(w);
}

static void fail(struct rewrite *w, const char *why)
{
    w->failure = why;
    end(w);
}

static void redirect(struct rewrite *w, int status, struct span url)
{
    if (!is_redirect(status) || url.len == 0) {
        fail(w, "the URL rewriter answered a redirection that is none");
        return;
    }
    w->redirect = status;
    add_url(&w->target, url);
    end(w);
}

static void rewrite_url(struct rewrite *w, struct span url)
{
    struct strbuf clean = { 0 };
    struct request *r;
    const char *what;

    add_url(&clean, url);
    r = request_with_url(w->request, sb_view(&clean), !w->settings->url_rewrite_host_header, &what);
    sb_free(&clean);
    if (r == NULL) {
        fail(w, "the URL rewriter answered a URL that can't be asked for");
        return;
    }
    external_carry_over(r, w->request);
    assert(r->original == NULL); /* rewritten once */
    r->original = w->request;    /* its reference goes along */
    w->request = r;
    ask_next(w);
}

static void url_answered(struct rewrite *w, const struct helper_reply *reply)
{
    struct span url = helper_reply_value(reply, "rewrite-url"), to = helper_reply_value(reply, "url"), old;
    const char *blank;
    int status;

    if (reply->status ==
        HELPER_OTHER) { /* older programs: nothing, a URL and words that are only repeated, or 302:URL */
        old = reply->rest;
        if ((blank = old.len > 0 ? memchr(old.p, ' ', old.len) : NULL) != NULL)
            old.len = (size_t)(blank - old.p);
        if (old_redirect(old, &status, &to))
            redirect(w, status, to);
        else if (old.len > 0 && !span_eq(old, w->request->uri.text))
            rewrite_url(w, old);
        else
            ask_next(w);
    } else if (reply->status == HELPER_OK && to.p != NULL) {
        struct span text = helper_reply_value(reply, "status");

        redirect(w, text.p != NULL ? status_of(text) : 302, to);
    } else if (reply->status == HELPER_OK && url.p != NULL) {
        rewrite_url(w, url);
    } else {
        ask_next(w); /* ERR, or OK without a word: as it is */
    }
}

static void id_answered(struct rewrite *w, const struct helper_reply *reply)
{
    struct span id = reply->status == HELPER_OK ? helper_reply_value(reply, "store-id") : SPAN_NONE;

    if (reply->status == HELPER_OTHER) /* older programs: the ID alone */
        id = reply->rest;
    if (id.len > 0) {
        struct request *r = request_keep(w->request);

        r->key = hash128(id.p, id.len);
        free(r->store_id);
        r->store_id = xspandup(id);
        request_unref(&w->request);
        w->request = r;
    }
    end(w);
}

static bool is_url_program(const struct rewrite *w)
{
    return w->program == &w->settings->url_rewrite;
}

static void take(struct rewrite *w, const struct helper_reply *reply)
{
    if (is_url_program(w))
        url_answered(w, reply);
    else
        id_answered(w, reply);
}

static void pass_by(struct rewrite *w)
{
    if (is_url_program(w))
        ask_next(w);
    else
        end(w);
}

static void ask(struct rewrite *w, const struct rewrite_setting *p);

static void failed(struct rewrite *w, const char *why)
{
    const struct rewrite_timeout *t = &w->settings->url_rewrite_timeout;
    bool late = why == helper_is_late && is_url_program(w);

    if (late && t->action == ON_TIMEOUT_RETRY && w->tries++ == 0) {
        ask(w, w->program);
    } else if (late && t->action == ON_TIMEOUT_RESPONSE) {
        char *text = xstrdup(t->response);
        struct helper_reply reply;

        helper_reply_parse(text, strlen(text), &reply);
        take(w, &reply);
        free(text);
    } else if (w->program->bypass || (late && t->action == ON_TIMEOUT_BYPASS)) {
        pass_by(w);
    } else {
        fail(w, why != NULL ? why : is_url_program(w) ? "the URL rewriter failed" : "the store-ID program failed");
    }
}

static void answered(struct helper_query *q, const struct helper_reply *reply, const char *why)
{
    struct rewrite *w = CONTAINER_OF(q, struct rewrite, query);

    if (reply->status == HELPER_BH || reply->status == HELPER_TT || reply->status == HELPER_AF ||
        reply->status == HELPER_NA)
        failed(w, why);
    else
        take(w, reply);
}

/* --- asking ----------------------------------------------------------------------------------------------------- */

static void add_extras(const struct rewrite_setting *p, const struct request *r, struct strbuf *line)
{
    struct log_entry e;
    char *at;
    size_t n;

    if (p->extras_format == NULL)
        return;
    log_entry_from_request(&e, r);
    sb_char(line, ' ');
    at = sb_reserve(line, EXTRAS_MAX);
    n = logformat_line(p->extras_format, &(struct logformat_options){ .strip_query_terms = false }, &e, at, EXTRAS_MAX);
    line->len += n > 0 ? n - 1 : 0; /* without its end */
}

static void ask(struct rewrite *w, const struct rewrite_setting *p)
{
    struct strbuf line = { 0 };

    w->program = p;
    w->query.done = answered;
    sb_span(&line, w->request->uri.text);
    add_extras(p, w->request, &line);
    helper_ask(p->program.pool, w->pw->worker, &w->query, sb_view(&line));
    sb_free(&line);
}

/* After the URL rewriter, or in its place. */
static void ask_next(struct rewrite *w)
{
    if (asks_for_id(w->settings, w->request))
        ask(w, &w->settings->store_id);
    else
        end(w);
}

void rewrite_start(struct rewrite *w, struct proxy_worker *pw, const struct settings *s, struct request *r,
                   void (*done)(struct rewrite *w))
{
    w->pw = pw;
    w->settings = s;
    w->request = request_ref(r);
    w->done = done;
    if (asks(&s->url_rewrite, r))
        ask(w, &s->url_rewrite);
    else
        ask(w, &s->store_id);
}

void rewrite_cancel(struct rewrite *w)
{
    helper_cancel(&w->query);
    sb_free(&w->target);
    if (w->request != NULL)
        request_unref(&w->request);
}
