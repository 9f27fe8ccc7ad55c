#include "hdrs/framing.h"

#include "hdrs/field_list.h"
#include "hdrs/field_number.h"

/* What the Transfer-Encoding of a message amounts to. */
enum codings {
    CODINGS_CHUNKED,       /* exactly that */
    CODINGS_FINAL_UNKNOWN, /* one or more codings, none of them chunked */
    CODINGS_BELOW_CHUNKED, /* others, then chunked: delimited, but we can't undo the others */
    CODINGS_BAD,
};

static enum codings codings_of(struct span value)
{
    struct span rest = value, member, final = SPAN_NONE;
    size_t members = 0, chunked = 0;

    if (span_eq_nocase(value, SPAN("chunked")))
        return CODINGS_CHUNKED;
    while (list_next(&rest, &member)) {
        members++;
        if (span_starts_nocase(member, SPAN("chunked")) &&
            (member.len == 7 || member.p[7] == ';' || member.p[7] == ' ' || member.p[7] == '\t'))
            chunked++; /* with parameters too: it has none, whoever reads it otherwise */
        final = member;
    }
    if (chunked == 0)
        return members > 0 ? CODINGS_FINAL_UNKNOWN : CODINGS_BAD;
    return chunked == 1 && members > 1 && span_eq_nocase(final, SPAN("chunked")) ? CODINGS_BELOW_CHUNKED : CODINGS_BAD;
}

static struct framing bad(int status, const char *what)
{
    return (struct framing){ .kind = FRAMING_BAD, .status = status, .what = what };
}

static struct framing length_of(const struct head *h, int status)
{
    const struct head_field *f = head_find(h, TOKEN_CONTENT_LENGTH);
    struct framing result = { .kind = FRAMING_LENGTH };

    if (head_next(h, f) != NULL)
        return bad(status, "several Content-Length fields");
    if (!number_parse(field_value(h, f), &result.length))
        return bad(status, "malformed Content-Length");
    return result;
}

static bool connection_persists(const struct head *h)
{
    enum connection_option option = head_connection(h);

    return h->minor_version == 0 ? option == CONNECTION_KEEP_ALIVE : option != CONNECTION_CLOSE;
}

static struct framing request_chunked(const struct head *request, const struct head_field *te)
{
    if (head_find(request, TOKEN_CONTENT_LENGTH) != NULL)
        return bad(400, "both Content-Length and Transfer-Encoding");
    if (request->minor_version == 0)
        return bad(400, "Transfer-Encoding in HTTP/1.0");
    if (head_next(request, te) != NULL)
        return bad(400, "several Transfer-Encoding fields");
    switch (codings_of(field_value(request, te))) {
    case CODINGS_CHUNKED: break;
    case CODINGS_FINAL_UNKNOWN:
    case CODINGS_BELOW_CHUNKED: return bad(501, "unknown transfer coding");
    case CODINGS_BAD: return bad(400, "malformed Transfer-Encoding");
    }
    /* Nobody has use for one, and peers that ignore it read the chunks as the next request. */
    if (request->method == METHOD_GET || request->method == METHOD_HEAD)
        return bad(400, "chunked body in a GET or HEAD request");
    return (struct framing){ .kind = FRAMING_CHUNKED };
}

struct framing request_framing(const struct head *request)
{
    const struct head_field *te = head_find(request, TOKEN_TRANSFER_ENCODING);
    struct framing f = { .kind = FRAMING_NONE };

    if (te != NULL)
        f = request_chunked(request, te);
    else if (head_find(request, TOKEN_CONTENT_LENGTH) != NULL)
        f = length_of(request, 400);
    f.keep_alive = f.kind != FRAMING_BAD && connection_persists(request);
    return f;
}

static bool response_has_no_body(const struct head *response, enum http_method method)
{
    return response->status < 200 || response->status == 204 || response->status == 304 || method == METHOD_HEAD ||
           (method == METHOD_CONNECT && response->status < 300);
}

/* Bodiless, but what may follow can't be trusted where it announces a body all the same (hostile-inputs O17). HEAD and
 * 304 may: they speak of the body a GET would get. */
static struct framing response_without_body(const struct head *response)
{
    bool announces = head_find(response, TOKEN_TRANSFER_ENCODING) != NULL ||
                     (head_find(response, TOKEN_CONTENT_LENGTH) != NULL &&
                      !span_eq(head_value(response, TOKEN_CONTENT_LENGTH), SPAN("0")));
    bool must_not = response->status < 200 || response->status == 204;

    return (struct framing){ .kind = FRAMING_NONE,
                             .keep_alive = connection_persists(response) && !(announces && must_not) };
}

static struct framing response_coded(const struct head *response, const struct head_field *te)
{
    if (head_find(response, TOKEN_CONTENT_LENGTH) != NULL)
        return bad(502, "both Content-Length and Transfer-Encoding");
    if (response->minor_version == 0)
        return bad(502, "Transfer-Encoding in HTTP/1.0");
    if (head_next(response, te) != NULL)
        return bad(502, "several Transfer-Encoding fields");
    switch (codings_of(field_value(response, te))) {
    case CODINGS_CHUNKED: return (struct framing){ .kind = FRAMING_CHUNKED };
    case CODINGS_FINAL_UNKNOWN: return (struct framing){ .kind = FRAMING_CLOSE };
    case CODINGS_BELOW_CHUNKED: return bad(502, "unknown transfer coding");
    case CODINGS_BAD: break;
    }
    return bad(502, "malformed Transfer-Encoding");
}

struct framing response_framing(const struct head *response, enum http_method method)
{
    const struct head_field *te = head_find(response, TOKEN_TRANSFER_ENCODING);
    struct framing f = { .kind = FRAMING_CLOSE };

    /* Whatever the status: two framing fields in a 204 or a 304 are an attempt at something. A 2xx to CONNECT is
     * the exception: both are to be ignored there (RFC 9110 section 9.3.6). */
    if (te != NULL && head_find(response, TOKEN_CONTENT_LENGTH) != NULL && method != METHOD_CONNECT)
        return bad(502, "both Content-Length and Transfer-Encoding");
    if (response_has_no_body(response, method))
        return response_without_body(response);
    if (te != NULL)
        f = response_coded(response, te);
    else if (head_find(response, TOKEN_CONTENT_LENGTH) != NULL)
        f = length_of(response, 502);
    f.keep_alive = f.kind != FRAMING_BAD && f.kind != FRAMING_CLOSE && connection_persists(response);
    return f;
}
