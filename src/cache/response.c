#include "cache/response.h"

#include <assert.h>
#include "base/clock.h"
#include "cache/selection.h"
#include "cache/vary.h"
#include "hdrs/field_date.h"
#include "hdrs/parse.h"

/* Ages and lifetimes beyond this many seconds (30 000 years) mean the same, and as microseconds they still leave room
 * to be added to a clock reading. */
#define SECONDS_MAX (INT64_C(1) << 40)

/* Writes a head, or with out NULL only measures it, so that both agree by construction. */
struct head_writer {
    char *out;
    size_t len;
};

/* Returns where the bytes went. */
static struct object_piece put(struct head_writer *w, struct span s)
{
    struct object_piece at = { (uint32_t)w->len, (uint32_t)s.len };

    if (w->out != NULL && s.len > 0)
        memcpy(w->out + w->len, s.p, s.len);
    w->len += s.len;
    return at;
}

static struct object_piece put_field(struct head_writer *w, struct span name, struct span value)
{
    struct object_piece at;

    put(w, name);
    put(w, SPAN(": "));
    at = put(w, value);
    put(w, SPAN("\r\n"));
    return at;
}

static void put_status_line(struct head_writer *w, const struct head *h)
{
    char code[4] = { (char)('0' + h->status / 100 % 10), (char)('0' + h->status / 10 % 10),
                     (char)('0' + h->status % 10), ' ' };

    put(w, SPAN("HTTP/1.1 "));
    put(w, span_of(code, sizeof code));
    put(w, head_piece(h, h->reason));
    put(w, SPAN("\r\n"));
}

static void put_date(struct head_writer *w, int64_t seconds)
{
    char text[DATE_BYTES];

    date_print(text, seconds);
    put_field(w, SPAN("Date"), span_of(text, sizeof text));
}

/* Where the pieces lie that are values of the head. */
struct head_pieces {
    struct object_piece etag, last_modified, content_type;
};

static void note_piece(struct head_pieces *p, enum token t, struct object_piece at)
{
    struct object_piece *piece = t == TOKEN_ETAG            ? &p->etag
                                 : t == TOKEN_LAST_MODIFIED ? &p->last_modified
                                 : t == TOKEN_CONTENT_TYPE  ? &p->content_type
                                                            : NULL;

    if (piece != NULL && piece->len == 0)
        *piece = at;
}

static struct head_pieces put_head(struct head_writer *w, const struct head *h, const struct selection *s,
                                   int64_t response_time)
{
    struct head_pieces pieces = { 0 };
    bool has_date = false;

    put_status_line(w, h);
    for (size_t i = 0; i < h->n_fields; i++) {
        const struct head_field *f = &h->fields[i];

        if (!s->keep[i])
            continue;
        has_date |= f->token == TOKEN_DATE;
        note_piece(&pieces, f->token, put_field(w, field_name(h, f), field_value(h, f)));
    }
    if (!has_date) /* RFC 9110 section 6.6.1 (caching-rules A8) */
        put_date(w, response_time);
    return pieces;
}

static uint8_t flags_of(const struct object_recipe *r, bool vary_star)
{
    uint32_t cc = r->response_cc->flags;
    unsigned flags = 0;

    if (cc & CC_NO_CACHE)
        flags |= OBJECT_NO_CACHE;
    if ((cc & (CC_MUST_REVALIDATE | CC_PROXY_REVALIDATE)) || r->response_cc->s_maxage >= 0)
        flags |= OBJECT_MUST_REVALIDATE;
    if (cc & CC_NO_CACHE_FIELDS)
        flags |= OBJECT_NO_CACHE_FIELDS;
    if (vary_star)
        flags |= OBJECT_VARY_STAR;
    if (r->part.whole != 0)
        flags |= OBJECT_PART;
    if (r->negative)
        flags |= OBJECT_NEGATIVE;
    return (uint8_t)flags;
}

static int64_t clamp_seconds(int64_t s)
{
    return s < 0 ? 0 : s > SECONDS_MAX ? SECONDS_MAX : s;
}

/* As stored: 68 years are for ever, -1 stays -1. */
static int32_t narrow_seconds(int64_t s)
{
    return s > INT32_MAX ? INT32_MAX : (int32_t)s;
}

static void set_times(struct object *o, const struct object_recipe *r)
{
    int64_t age = clamp_seconds(current_age(&r->times, r->times.response_time));
    const struct cache_control *cc = r->response_cc;

    o->times = r->times;
    o->lifetime = clamp_seconds(r->lifetime);
    o->age_base = saturating_sub(r->mono, age * US_PER_S);
    o->fresh_until = saturating_add(r->mono, (o->lifetime - age) * US_PER_S);
    o->stale_while_revalidate = narrow_seconds(cc->stale_while_revalidate);
    o->stale_if_error = narrow_seconds(cc->stale_if_error);
    o->max_stale = r->rule != NULL ? narrow_seconds(r->rule->max_stale) : -1;
}

/* Made anew for every answer. */
static void drop_content_range(struct selection *s, const struct head *h)
{
    for (const struct head_field *f = head_find(h, TOKEN_CONTENT_RANGE); f != NULL; f = head_next(h, f))
        s->keep[f - h->fields] = false;
}

struct object *object_from_response(const struct object_recipe *r)
{
    const struct head *h = r->response;
    int64_t response_time = r->times.response_time;
    struct selection selection;
    char names[VARY_NAMES_MAX];
    bool star;
    struct span vary = span_of(names, vary_names(h, names, sizeof names, &star));
    struct span part = span_of((const char *)&r->part, r->part.whole != 0 ? sizeof r->part : 0);
    struct head_writer measure = { NULL, 0 }, w;
    struct head_pieces pieces;
    struct object *o;

    select_fields(&selection, h, r->response_cc, response_time);
    if (r->part.whole != 0)
        drop_content_range(&selection, h);
    put_head(&measure, h, &selection, response_time);
    o = object_new(r->arena, measure.len + r->url.len + vary.len + part.len);
    if (o == NULL)
        return NULL;
    w = (struct head_writer){ o->head, 0 };
    pieces = put_head(&w, h, &selection, response_time);
    assert(w.len == measure.len);
    o->head_len = (uint32_t)w.len;
    o->url = put(&w, r->url);
    o->vary = put(&w, vary);
    put(&w, part);
    o->etag = pieces.etag;
    o->content_type = pieces.content_type;
    /* One that is no date is as good as none: nobody is asked with it (caching-rules D8). */
    if (date_parse(head_value(h, TOKEN_LAST_MODIFIED), response_time, &o->last_modified))
        o->last_modified_text = pieces.last_modified;
    if (o->last_modified_text.len == 0)
        o->last_modified = INT64_MIN;
    o->key = r->key;
    if (vary.len > 0 && r->request != NULL)
        o->vary_print = vary_fingerprint(vary, r->request);
    o->status = h->status;
    atomic_init(&o->flags, flags_of(r, star));
    set_times(o, r);
    return o;
}

static bool parse_text(struct head *h, const struct strbuf *text)
{
    struct parse_limits limits = { .max_bytes = UINT32_MAX, .max_fields = HEAD_FIELDS_MAX };
    struct parse_progress progress = { 0 };
    struct parse_error error;

    return parse_response(h, text->p, text->len, &limits, &progress, &error) == PARSE_DONE;
}

static void add_field(struct strbuf *out, const struct head *h, const struct head_field *f)
{
    sb_span(out, field_name(h, f));
    sb_add(out, ": ", 2);
    sb_span(out, field_value(h, f));
    sb_add(out, "\r\n", 2);
}

void response_own_fields(const struct object_recipe *r, struct strbuf *out)
{
    struct cache_control unqualified = *r->response_cc;
    struct selection ours, all;

    if (!(unqualified.flags & (CC_NO_CACHE_FIELDS | CC_PRIVATE_FIELDS)))
        return;
    unqualified.flags &= ~(unsigned)(CC_NO_CACHE_FIELDS | CC_PRIVATE_FIELDS);
    select_fields(&ours, r->response, r->response_cc, r->times.response_time);
    select_fields(&all, r->response, &unqualified, r->times.response_time);
    for (size_t i = 0; i < r->response->n_fields; i++)
        if (all.keep[i] && !ours.keep[i])
            add_field(out, r->response, &r->response->fields[i]);
}

/* Does the 304 (its fields chosen by s) bring a field of that name? */
static bool replaces(const struct head *update, const struct selection *s, const struct head *h,
                     const struct head_field *f)
{
    if (f->token != TOKEN_OTHER) {
        const struct head_field *u = head_find(update, f->token);

        while (u != NULL && !s->keep[u - update->fields])
            u = head_next(update, u);
        return u != NULL;
    }
    for (size_t i = 0; i < update->n_fields; i++)
        if (s->keep[i] && span_eq_nocase(field_name(update, &update->fields[i]), field_name(h, f)))
            return true;
    return false;
}

/* A whole head: the stored fields without those the update brings, then the update's. Date always goes: an update without one is
 * dated by its arrival. */
static void unite(struct strbuf *out, struct span status_line, const struct head *stored, const struct head *update,
                  const struct selection *s)
{
    sb_span(out, status_line);
    sb_add(out, "\r\n", 2);
    for (size_t i = 0; i < stored->n_fields; i++) {
        const struct head_field *f = &stored->fields[i];

        if (f->token != TOKEN_DATE && !replaces(update, s, stored, f))
            add_field(out, stored, f);
    }
    for (size_t i = 0; i < update->n_fields; i++)
        if (s->keep[i])
            add_field(out, update, &update->fields[i]);
    sb_add(out, "\r\n", 2);
}

/* What of a 304, or of a part's head, gets into the stored head. */
static void select_updates(struct selection *s, const struct object *stored, const struct object_recipe *r)
{
    select_fields(s, r->response, r->response_cc, r->times.response_time);
    for (size_t i = 0; i < r->response->n_fields; i++)
        if (token_policy(r->response->fields[i].token) & TOKEN_NOT_FROM_304)
            s->keep[i] = false;
    if (object_is_part(stored))
        drop_content_range(s, r->response);
}

/* text becomes the united head, *united its parse. */
static bool unite_heads(const struct object *stored, struct span status_line, const struct object_recipe *r,
                        struct strbuf *text, struct head *united)
{
    struct head *stored_head = united; /* parsed first, no longer needed once united is: 6 KB saved */
    struct strbuf stored_text = { 0 };
    struct selection s;
    bool ok;

    sb_span(&stored_text, object_head(stored));
    sb_add(&stored_text, "\r\n", 2);
    select_updates(&s, stored, r);
    ok = parse_text(stored_head, &stored_text);
    if (ok)
        unite(text, status_line, stored_head, r->response, &s);
    sb_free(&stored_text);
    return ok && parse_text(united, text);
}

static struct span status_line_of(const struct object *o)
{
    struct span head = object_head(o);
    const char *end = memchr(head.p, '\r', head.len);

    return span_of(head.p, end ? (size_t)(end - head.p) : head.len);
}

/* stored's fields and r->response's, with that status line, without a body. */
static struct object *object_united(const struct object *stored, struct span status_line, const struct object_recipe *r)
{
    struct object_recipe united_recipe = *r;
    struct strbuf text = { 0 };
    struct head united;
    struct cache_control cc;
    enum lifetime_source source;
    struct object *o = NULL;

    if (unite_heads(stored, status_line, r, &text, &united)) {
        cc = cache_control_of_response(&united, r->targets);
        united_recipe.response = &united;
        united_recipe.response_cc = &cc;
        united_recipe.key = stored->key;
        united_recipe.url = object_piece(stored, stored->url);
        united_recipe.negative = false;
        united_recipe.lifetime = freshness_lifetime(&united, &cc, &r->times, r->rule, &source);
        o = object_from_response(&united_recipe);
    }
    if (o != NULL && !r->another_variant && span_eq(object_piece(o, o->vary), object_piece(stored, stored->vary)))
        o->vary_print = stored->vary_print; /* r->request selected it */
    sb_free(&text);
    return o;
}

struct object *object_from_304(struct object *stored, const struct object_recipe *r)
{
    struct object *o = object_united(stored, status_line_of(stored), r);

    if (o != NULL)
        o->body = stored->body != NULL ? body_ref(stored->body) : NULL;
    return o;
}

struct object *object_from_parts(const struct object *begins, uint64_t last, const struct object_recipe *r)
{
    struct object_recipe recipe = *r;
    struct object_part part = object_part(begins);
    bool whole = part.first == 0 && last == part.whole - 1;

    recipe.part = whole ? (struct object_part){ 0, 0 } : part;
    return object_united(begins, whole ? SPAN("HTTP/1.1 200 OK") : status_line_of(begins), &recipe);
}
