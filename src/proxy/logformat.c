/* proxy/logformat.c: logformat text to steps. */
#include "proxy/logformat.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "proxy/logformat_out.h"
#include "proxy/logformat_steps.h"

enum code_flag {
    TAKES_ARG = 1 << 0, /* {...} means something */
    ONE_WORD = 1 << 1,  /* see struct log_step */
};

/* Every code there is. refused: why not, instead of an op. */
static const struct code {
    const char *name;
    uint8_t op;
    uint8_t flags;
    const char *refused;
} codes[] = {
    { "ts", LOG_TIME_S, 0, NULL },
    { "tu", LOG_TIME_SUB, 0, NULL },
    { "tr", LOG_ELAPSED, 0, NULL },
    { "tl", LOG_TIME_LOCAL, TAKES_ARG, NULL },
    { "tg", LOG_TIME_GMT, TAKES_ARG, NULL },
    { "tS", LOG_TIME_START, 0, NULL },
    { "dt", LOG_DNS_MS, 0, NULL },
    { ">a", LOG_CLIENT_ADDR, 0, NULL },
    { ">A", LOG_CLIENT_ADDR, 0, NULL }, /* names would need a reverse look-up per line */
    { ">p", LOG_CLIENT_PORT, 0, NULL },
    { ">la", LOG_LOCAL_ADDR, 0, NULL },
    { ">lp", LOG_LOCAL_PORT, 0, NULL },
    { "la", LOG_LOCAL_ADDR, 0, NULL },
    { "lp", LOG_LOCAL_PORT, 0, NULL },
    { "<a", LOG_SERVER_ADDR, 0, NULL },
    { "<A", LOG_SERVER_NAME, ONE_WORD, NULL },
    { "<p", LOG_SERVER_PORT, 0, NULL },
    { "<la", LOG_SERVER_LOCAL_ADDR, 0, NULL },
    { "<lp", LOG_SERVER_LOCAL_PORT, 0, NULL },
    { "un", LOG_ANY_USER, ONE_WORD, NULL },
    { "ul", LOG_USER, ONE_WORD, NULL },
    { "ui", LOG_NEVER, 0, NULL }, /* ident */
    { "ue", LOG_EXTERNAL_USER, ONE_WORD, NULL },
    { "us", LOG_NEVER, 0, NULL }, /* TLS client certificates */
    { "rm", LOG_METHOD, ONE_WORD, NULL },
    { "ru", LOG_URL, ONE_WORD, NULL },
    { "rv", LOG_VERSION, 0, NULL },
    { "rp", LOG_URL_PATH, ONE_WORD, NULL },
    { ">rm", LOG_METHOD, ONE_WORD, NULL },
    { ">ru", LOG_URL, ONE_WORD, NULL },
    { ">rs", LOG_URL_SCHEME, ONE_WORD, NULL },
    { ">rd", LOG_URL_HOST, ONE_WORD, NULL },
    { ">rP", LOG_URL_PORT, 0, NULL },
    { ">rp", LOG_URL_PATH, ONE_WORD, NULL },
    { ">rv", LOG_VERSION, 0, NULL },
    { "<rm", LOG_METHOD, ONE_WORD, NULL }, /* nothing rewrites requests: as sent is as received */
    { "<ru", LOG_URL, ONE_WORD, NULL },
    { "<rs", LOG_URL_SCHEME, ONE_WORD, NULL },
    { "<rd", LOG_URL_HOST, ONE_WORD, NULL },
    { "<rP", LOG_URL_PORT, 0, NULL },
    { "<rp", LOG_URL_PATH, ONE_WORD, NULL },
    { "<rv", LOG_VERSION, 0, NULL },
    { ">Hs", LOG_STATUS, 0, NULL },
    { "Hs", LOG_STATUS, 0, NULL }, /* the old name */
    { "<Hs", LOG_SERVER_STATUS, 0, NULL },
    { ">h", LOG_REQUEST_FIELD, TAKES_ARG, NULL },
    { ">ha", LOG_REQUEST_FIELD, TAKES_ARG, NULL }, /* nothing adapts requests */
    { "<h", LOG_REPLY_FIELD, TAKES_ARG, NULL },
    { "mt", LOG_MIME, ONE_WORD, NULL },
    { "st", LOG_BYTES_ALL, 0, NULL },
    { ">st", LOG_BYTES_IN, 0, NULL },
    { "<st", LOG_BYTES_OUT, 0, NULL },
    { ">sh", LOG_HEAD_IN, 0, NULL },
    { "<sh", LOG_HEAD_OUT, 0, NULL },
    { "<pt", LOG_SERVER_MS, 0, NULL },
    { "<tt", LOG_SERVER_MS, 0, NULL },
    { "Ss", LOG_TAG_TEXT, 0, NULL },
    { "Sh", LOG_HIER, 0, NULL },
    { "Sr", LOG_REASON, 0, NULL },             /* ours: why it was a hit, a miss or denied */
    { "Sl", LOG_ACCESS_LINE, ONE_WORD, NULL }, /* ours: FILE:LINE of the access rule that decided */
    { "err_code", LOG_ERROR_NAME, 0, NULL },
    { "err_detail", LOG_ERROR_DETAIL, 0, NULL },
    { "sn", LOG_SEQUENCE, 0, NULL },
    { "master_xaction", LOG_SEQUENCE, 0, NULL },
    { "et", LOG_EXTERNAL_TAG, ONE_WORD, NULL },
    { "ea", LOG_EXTERNAL_LOG, 0, NULL },
    { "note", LOG_NOTE, TAKES_ARG, NULL },
    { "ssl::>sni", LOG_NEVER, 0, NULL }, /* TLS isn't intercepted, so there is never one */
    { "ssl::bump_mode", LOG_NEVER, 0, NULL },
    { "ssl::", 0, 0, "details of TLS connections aren't kept" },
    { "tls::", 0, 0, "details of TLS connections aren't kept" },
    { "icap::", 0, 0, "there is no ICAP client" },
    { "adapt::", 0, 0, "there is no content adaptation" },
    { "<bs", 0, 0, "the size of the server's body isn't kept; <st is what the client got" },
    { "<sH", 0, 0, "offsets in the reply aren't kept" },
    { "<sS", 0, 0, "offsets in the reply aren't kept" },
    { "credentials", 0, 0, "credentials don't belong in a log" },
    { ">eui", 0, 0, "link-layer addresses aren't looked up" },
    { "<eui", 0, 0, "link-layer addresses aren't looked up" },
    { ">qos", 0, 0, "quality-of-service marks aren't read" },
    { "<qos", 0, 0, "quality-of-service marks aren't read" },
    { ">nfmark", 0, 0, "netfilter marks aren't read" },
    { "<nfmark", 0, 0, "netfilter marks aren't read" },
    { ">handshake", 0, 0, "raw handshake bytes aren't kept" },
    { "proxy_protocol::", 0, 0, "PROXY protocol headers aren't kept" },
};

#define WIDTH_MAX 1024
static const char common[] = "%>a %[ui %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st %Ss:%Sh";
static const char combined[] = "%>a %[ui %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st "
                               "\"%{Referer}>h\" \"%{User-Agent}>h\" %Ss:%Sh";
static const struct {
    const char *name, *spec;
} builtins[] = {
    { "squid", "%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt" },
    { "common", common },
    { "combined", combined },
    { "referrer", "%ts.%03tu %>a %{Referer}>h %ru" },
    { "useragent", "%>a [%tl] \"%{User-Agent}>h\"" },
};

const char *logformat_builtin(struct span name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (span_eq(name, span_str(builtins[i].name)))
            return builtins[i].spec;
    return NULL;
}

struct compiler {
    const char *spec, *at;
    struct logformat *f;
    size_t capacity;             /* steps */
    char *text_end;              /* of what f->text holds */
    char *error;                 /* capacity 160 */
    bool in_quotes, in_brackets; /* of the text so far: the encoding of codes that name none */
};

/* Text and args are never longer than the spec plus a NUL for each, so they fit into twice its length. */
static struct span keep(struct compiler *c, const char *p, size_t n)
{
    char *at = c->text_end;

    memcpy(at, p, n);
    at[n] = '\0';
    c->text_end = at + n + 1;
    return span_of(at, n);
}

static struct log_step *add_step(struct compiler *c)
{
    if (c->f->n == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        c->f->steps = xrealloc(c->f->steps, c->capacity * sizeof c->f->steps[0]);
    }
    c->f->steps[c->f->n] = (struct log_step){ 0 };
    return &c->f->steps[c->f->n++];
}

static void compile_text(struct compiler *c)
{
    const char *start = c->at;

    while (*c->at != '\0' && *c->at != '%') {
        switch (*c->at++) {
        case '"': c->in_quotes = !c->in_quotes; break;
        case '[': c->in_brackets = true; break;
        case ']': c->in_brackets = false; break;
        }
    }
    add_step(c)->arg = keep(c, start, (size_t)(c->at - start));
}

static enum log_encoding compile_encoding(struct compiler *c)
{
    static const struct {
        char sign;
        enum log_encoding encoding;
    } signs[] = {
        { '"', LOG_ENC_QUOTED }, { '[', LOG_ENC_BLOB }, { '#', LOG_ENC_URL },
        { '/', LOG_ENC_SHELL },  { '\'', LOG_ENC_RAW },
    };

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (*c->at == signs[i].sign) {
            c->at++;
            return signs[i].encoding;
        }
    return c->in_quotes ? LOG_ENC_QUOTED : c->in_brackets ? LOG_ENC_BLOB : LOG_ENC_FIELD;
}

static bool compile_number(struct compiler *c, uint16_t *out)
{
    unsigned n = 0;

    while (*c->at >= '0' && *c->at <= '9') {
        n = n * 10 + (unsigned)(*c->at - '0');
        if (n > WIDTH_MAX) {
            snprintf(c->error, 160, "width above %d", WIDTH_MAX);
            return false;
        }
        c->at++;
    }
    *out = (uint16_t)n;
    return true;
}

static bool compile_arg(struct compiler *c, struct span *arg)
{
    const char *end = strchr(c->at, '}');

    if (end == NULL) {
        snprintf(c->error, 160, "'{' without its '}'");
        return false;
    }
    *arg = span_of(c->at + 1, (size_t)(end - c->at) - 1);
    c->at = end + 1;
    return true;
}

static const struct code *find_code(const char *at)
{
    const struct code *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t n = strlen(codes[i].name);

        if (n > best_len && strncmp(at, codes[i].name, n) == 0) {
            best = &codes[i];
            best_len = n;
        }
    }
    return best;
}

/* {Name}, {Name:element} or {Name:;element}: one element of a list, between commas or what stands there. */
static void set_field_arg(struct compiler *c, struct log_step *s, struct span arg)
{
    const char *colon = memchr(arg.p, ':', arg.len);

    s->separator = ',';
    if (colon != NULL) {
        struct span element = span_of(colon + 1, arg.len - (size_t)(colon + 1 - arg.p));

        if (element.len > 0 && memchr(",;:!^|", element.p[0], 6) != NULL) {
            s->separator = element.p[0];
            element = span_of(element.p + 1, element.len - 1);
        }
        s->element = keep(c, element.p, element.len);
        arg.len = (size_t)(colon - arg.p);
    }
    s->arg = keep(c, arg.p, arg.len);
}

static bool set_time_arg(struct compiler *c, struct log_step *s, struct span arg)
{
    if (arg.len > LOG_TIME_TEXT_MAX / 2) {
        snprintf(c->error, 160, "time format longer than %d bytes", LOG_TIME_TEXT_MAX / 2);
        return false;
    }
    s->arg = keep(c, arg.p, arg.len);
    return true;
}

/* After a '%': encoding, widths, argument, code. False: c->error says why, c->at where. */
static bool compile_code(struct compiler *c)
{
    struct log_step s = { 0 };
    struct span arg = SPAN_NONE;
    const struct code *code;
    const char *code_at;

    if (*c->at == '%') {
        add_step(c)->arg = keep(c, c->at++, 1);
        return true;
    }
    s.encoding = (uint8_t)compile_encoding(c);
    if (*c->at == '-') {
        s.left = true;
        c->at++;
    }
    if (*c->at == '0') {
        s.zeros = true;
        c->at++;
    }
    if (!compile_number(c, &s.min))
        return false;
    if (*c->at == '.') {
        c->at++;
        if (!compile_number(c, &s.max))
            return false;
    }
    if (*c->at == '{' && !compile_arg(c, &arg))
        return false;
    if (strncmp(c->at, "http::", 6) == 0)
        c->at += 6;
    code_at = c->at;
    if ((code = find_code(code_at)) == NULL) {
        if (*code_at == '\0')
            snprintf(c->error, 160, "'%%' without a code at the end");
        else
            snprintf(c->error, 160, "unknown logformat code '%%%.20s'", code_at);
        return false;
    }
    if (code->refused != NULL) {
        snprintf(c->error, 160, "'%%%s' can't be logged: %s", code->name, code->refused);
        return false;
    }
    c->at += strlen(code->name);
    /* The old order: >h{Host} */
    if (arg.p == NULL && *c->at == '{' && (code->flags & TAKES_ARG) && !compile_arg(c, &arg))
        return false;
    s.op = code->op;
    s.one_word = (code->flags & ONE_WORD) != 0;
    if (arg.len > 0 && (code->flags & TAKES_ARG)) {
        if (s.op == LOG_REQUEST_FIELD || s.op == LOG_REPLY_FIELD)
            set_field_arg(c, &s, arg);
        else if (!set_time_arg(c, &s, arg))
            return false;
    }
    *add_step(c) = s;
    return true;
}

void *logformat_compile(const char *spec, char error[160], size_t *at)
{
    struct compiler c = { .spec = spec, .at = spec, .error = error };

    c.f = xcalloc(1, sizeof *c.f);
    c.f->text = xcalloc(1, 2 * strlen(spec) + 1 + LOG_SLACK);
    c.text_end = c.f->text;
    while (*c.at != '\0') {
        if (*c.at != '%') {
            compile_text(&c);
            continue;
        }
        c.at++;
        if (!compile_code(&c)) {
            *at = (size_t)(c.at - spec);
            logformat_free(c.f);
            return NULL;
        }
    }
    assert(c.text_end <= c.f->text + 2 * strlen(spec) + 1);
    return c.f;
}

void logformat_free(void *format)
{
    struct logformat *f = format;

    if (f == NULL)
        return;
    free(f->steps);
    free(f->text);
    free(f);
}
