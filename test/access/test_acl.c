#include <time.h>
#include "lines.h"

/* ---- definitions ---- */

enum outcome { GOOD, WARNS, FAILS };

static const struct {
    const char *why, *lines; /* several are split at ';': the last is judged */
    enum outcome want;
    size_t word;
    const char *says; /* a piece of the text */
    const char *suggestion;
} definitions[] = {
    { "plain", "lan src 10.0.0.0/8", GOOD, 0, "", NULL },
    { "values are added", "lan src 10.0.0.0/8; lan src 192.168.0.0/16", GOOD, 0, "", NULL },
    { "another type", "lan src 10.0.0.0/8; lan dst 10.0.0.0/8", FAILS, 1, "type src already", NULL },
    { "old spellings are the same type", "p localport 3128; p myport 3129", GOOD, 0, "", NULL },
    { "names in any letter case", "lan src 10.0.0.0/8; LAN port 80", FAILS, 1, "type src already", NULL },
    { "no type", "lan", FAILS, 1, "a name, a type", NULL },
    { "no values", "lan src", WARNS, 0, "never matches", NULL },
    { "a name that can't be used", "!lan src all", FAILS, 0, "'!'", NULL },
    { "unknown type", "x dstdoman a.test", FAILS, 1, "unknown", "dstdomain" },
    { "unknown type like none", "x frobnicate a.test", FAILS, 1, "unknown", NULL },
    { "Squid's but not ours", "x ident REQUIRED", FAILS, 1,
      "acl type 'ident' is not supported yet: there is no ident; use proxy_auth", NULL },
    { "another", "x ssl::server_name .a.test", FAILS, 1, "not supported yet", NULL },
    { "told once", "x ident joe; x src all", FAILS, 0, "failed before", NULL },
    { "bad address", "x src 10.0.0.0/8 10.0.0.300", FAILS, 3, "10.0.0.300", NULL },
    { "netmask", "x src 10.0.0.0/8 10.0.0.0/255.0.0.0", WARNS, 3, "netmask", NULL },
    { "-n of dst", "x dst -n 10.0.0.0/8", GOOD, 0, "", NULL },
    { "-n of dstdomain", "x dstdomain -n .a.test", GOOD, 0, "", NULL },
    { "-n of dstdom_regex", "x dstdom_regex -n -i a", GOOD, 0, "", NULL },
    { "no -n of srcdomain", "x srcdomain -n .a.test", FAILS, 2, "never match", NULL },
    { "no -n of srcdom_regex", "x srcdom_regex -i -n a", FAILS, 3, "never match", NULL },
    { "no such flag", "x dstdomain -i .a.test", FAILS, 2, "no flag '-i'", NULL },
    { "bad port", "x port 80 http", FAILS, 3, "http", NULL },
    { "-- ends flags", "x dst -n -- 10.0.0.0/8", GOOD, 0, "", NULL },
    { "-- alone", "x port -- 80", GOOD, 0, "", NULL },
    { "-- and nothing", "x port --", WARNS, 0, "never matches", NULL },
    { "behind -- a flag is a value", "x dstdomain -- -n..", FAILS, 3, "-n..", NULL },
    { "a limit", "x maxconn 10", GOOD, 0, "", NULL },
    { "no number", "x maxconn ten", FAILS, 2, "ten", NULL },
    { "too large", "x maxconn 1000000000", FAILS, 2, "999999999", NULL },
    { "no limit", "x maxconn", FAILS, 1, "one value", NULL },
    { "two limits", "x maxconn 10; x maxconn 20", FAILS, 2, "one value", NULL },
    { "a chance", "x random 0.25", GOOD, 0, "", NULL },
    { "a fraction", "x random 1/3", GOOD, 0, "", NULL },
    { "a ratio", "x random 3:5", GOOD, 0, "", NULL },
    { "more than sure", "x random 5/3", FAILS, 2, "not a chance", NULL },
    { "of nothing", "x random 0/0", FAILS, 2, "not a chance", NULL },
    { "a helper of no name", "x external", FAILS, 1, "needs the name of an external_acl_type", NULL },
    { "less than never", "x random -0.5", FAILS, 2, "not a chance", NULL },
    { "no number", "x random often", FAILS, 2, "not a chance", NULL },
    { "a tail", "x random 1/3x", FAILS, 2, "not a chance", NULL },
    { "two chances", "x random 0.1 0.2", FAILS, 2, "one value", NULL },
    { "who was asked", "x hier_code HIER_DIRECT CARP", GOOD, 0, "", NULL },
    { "nobody's code", "x hier_code HEIR_DIRECT", FAILS, 2, "knows no", "HIER_DIRECT" },
    { "has what", "x has responce", FAILS, 2, "knows no", "response" },
    { "who began", "x transaction_initiator clinet", FAILS, 2, "knows no", "client" },
    { "an error page", "x squid_error ERR_DNS_FAIL", GOOD, 0, "", NULL },
    { "no error page", "x squid_error DNS_FAIL", FAILS, 2, "ERR_", NULL },
    { "a note", "x note team", GOOD, 0, "", NULL },
    { "a note's values", "x note -m=:| team a b", GOOD, 0, "", NULL },
    { "another note", "x note team a; x note floor a", FAILS, 2, "'team' already", NULL },
    { "no name", "x note -m", FAILS, 2, "name of an annotation", NULL },
    { "no delimiters", "x note -m= team", FAILS, 2, "no flag '-m='", NULL },
    { "no such flag", "x note -i team", FAILS, 2, "no flag '-i'", NULL },
    { "an annotation", "x annotate_client team=a floor+=3 empty=", GOOD, 0, "", NULL },
    { "no annotation", "x annotate_transaction team", FAILS, 2, "name=value", NULL },
    { "without a name", "x annotate_transaction =a", FAILS, 2, "name=value", NULL },
    { "without a name", "x annotate_transaction +=a", FAILS, 2, "name=value", NULL },
    { "format codes", "x annotate_transaction who=%un", FAILS, 2, "format codes", NULL },
    { "bad status", "x http_status 99", FAILS, 2, "99", NULL },
    { "bad status", "x http_status 099", FAILS, 2, "099", NULL },
    { "status range", "x http_status 400-499", GOOD, 0, "", NULL },
    { "bad domain", "x dstdomain a..test", FAILS, 2, "a..test", NULL },
    { "wildcards", "x dstdomain *.a.test", WARNS, 2, "write '.a.test'", NULL },
    { "a URL for a name", "x dstdomain http://a.test/", WARNS, 2, "never matches", NULL },
    { "overlap", "x dstdomain .a.test www.a.test", WARNS, 2, "covered by '.a.test'", NULL },
    { "overlap, the order that is fatal in Squid", "x dstdomain www.a.test .a.test", WARNS, 2, "covered", NULL },
    { "bad pattern", "x url_regex ok (bad", FAILS, 3, "(bad", NULL },
    { "a field and no patterns", "x req_header X-Y", WARNS, 2, "never matches", NULL },
    { "no field", "x req_header", FAILS, 1, "name of a field", NULL },
    { "another field", "x req_header X-Y a; x req_header X-Z a", FAILS, 2, "'X-Y' already", NULL },
    { "the same field again", "x req_header X-Y a; x req_header x-y b", GOOD, 0, "", NULL },
    { "bad hours", "x time MTWHF 18:00-08:00", FAILS, 3, "end before", NULL },
    { "method in lower case", "x method get", WARNS, 2, "case-sensitive", "GET" },
    { "any other method", "x method PROPFIND", GOOD, 0, "", NULL },
    { "unknown scheme", "x proto HTPP", WARNS, 2, "HTPP", "http" },
    { "groups", "x any-of localhost !manager", GOOD, 0, "", NULL },
    { "group of the undefined", "x all-of localhots", FAILS, 2, "not defined", "localhost" },
    { "a circle of one", "x any-of x", FAILS, 2, "made of itself", NULL },
    { "a circle of three", "x any-of all; y any-of x; z all-of all !y; x any-of z", FAILS, 2, "made of itself", NULL },
    { "no circle", "x any-of all; y any-of x; z all-of x y; z all-of y", GOOD, 0, "", NULL },
    /* The built-in ones. */
    { "all, again", "all src all", WARNS, 0, "adds nothing", NULL },
    { "all, old", "all src 0.0.0.0/0.0.0.0", WARNS, 0, "adds nothing", NULL },
    { "all, as mgr:config has it", "all src ::/0", WARNS, 0, "adds nothing", NULL },
    { "all, less", "all src 10.0.0.0/8", WARNS, 0, "adds nothing", NULL },
    { "all, another type", "all dst all", FAILS, 1, "built in", NULL },
    { "localhost, again", "localhost src 127.0.0.1/32 ::1", WARNS, 0, "adds nothing", NULL },
    { "localhost, wider", "localhost src 127.0.0.0/8", WARNS, 0, "added to its own", NULL },
    { "to_localhost, as in old files", "to_localhost dst 127.0.0.0/8 0.0.0.0/32", WARNS, 0, "adds nothing", NULL },
    { "CONNECT, again", "CONNECT method CONNECT", WARNS, 0, "adds nothing", NULL },
    { "CONNECT, another type", "CONNECT port 443", FAILS, 1, "built in", NULL },
    { "CONNECT, an unknown type", "CONNECT frob 443", FAILS, 1, "built in", NULL },
    { "manager, as in old files", "manager proto cache_object", WARNS, 0, "built in", NULL },
    { "manager, as in mgr:config", "manager url_regex -i ^cache_object:// +i ^[^:]+://[^/]+/squid-internal-mgr/", WARNS,
      0, "built in", NULL },
    { "manager, something else", "manager src 10.0.0.1", FAILS, 0, "built in", NULL },
    { "manager, half of it", "manager url_regex ^cache_object:", FAILS, 0, "built in", NULL },
};

static bool define_lines(struct acl_set *s, const char *lines, struct acl_problem *p)
{
    char *copy = xstrdup(lines), *rest = copy, *line;
    /* Spans of the problem may point into the words: those of the last line, which nobody looks at after. */
    bool good = true;

    while ((line = strsep(&rest, ";")) != NULL) {
        good = define_line(s, line, p);
        if (!good && rest != NULL && strstr(rest, "x src all") == NULL)
            fail_msg("acl %s: %s", line, p->text);
    }
    free(copy);
    return good;
}

static void definitions_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(definitions); i++) {
        struct acl_set *s = acl_set_new();
        struct acl_problem p;
        bool good = define_lines(s, definitions[i].lines, &p);
        enum outcome got = !good ? FAILS : p.text[0] ? WARNS : GOOD;
        const char *suggestion = definitions[i].suggestion;

        if (got != definitions[i].want || p.word != definitions[i].word || p.is_warning != (got == WARNS) ||
            strstr(p.text, definitions[i].says) == NULL)
            fail_msg("%s: %s: outcome %d, word %zu: '%s'", definitions[i].why, definitions[i].lines, (int)got, p.word,
                     p.text);
        if (!span_eq(p.suggestion, span_str(suggestion)))
            fail_msg("%s: did you mean '%.*s'", definitions[i].lines, SPAN_ARG(p.suggestion));
        acl_set_free(&s);
    }
}

/* A rule on a failed ACL must open nothing, should anybody use the set all the same. */
static void failed_acls_are_undecided(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();
    struct acl_problem p;

    (void)state;
    assert_false(define_line(s, "auth ident REQUIRED", &p));
    assert_non_null(acl_find(s, SPAN("auth")));
    assert_int_equal(acl_matches(acl_find(s, SPAN("auth")), &f), ACL_UNDECIDED);
    acl_set_free(&s);
}

/* ---- answers ---- */

static const char request_text[] = "GET /path HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: Mozilla/5.0\r\n"
                                   "Referer: http://a.test/\r\nX-One: first\r\nx-one: second\r\n"
                                   "Content-Type: text/plain\r\n\r\n";
static const char response_text[] =
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nX-Two: yes\r\nX-Three: a\r\nX-Three:  b \r\n\r\n";

static const struct {
    const char *line, *host, *dst; /* host NULL: the example's; dst NULL: unknown, "": none */
    enum acl_answer want;
} answers[] = {
    { "x src 192.0.2.0/24", NULL, NULL, ACL_YES },
    { "x src 10.0.0.0/8 2001:db8::/32", NULL, NULL, ACL_NO },
    { "x src ipv6", NULL, NULL, ACL_NO },
    { "x localip 192.0.2.1", NULL, NULL, ACL_YES },
    { "x myip 192.0.2.2", NULL, NULL, ACL_NO },
    { "x localport 3128", NULL, NULL, ACL_YES },
    { "x myport 80", NULL, NULL, ACL_NO },
    { "x myportname inside", NULL, NULL, ACL_YES },
    { "x myportname Inside", NULL, NULL, ACL_NO },
    { "x dst 10.0.0.0/8", NULL, NULL, ACL_NEED_DST },
    { "x dst 10.0.0.0/8", NULL, "", ACL_NO },
    { "x dst all", NULL, "", ACL_NO },
    { "x dst 10.0.0.0/8", NULL, "192.0.2.80 10.0.0.1", ACL_YES },
    { "x dst 10.0.0.0/8", NULL, "192.0.2.80", ACL_NO },
    { "x dst 10.0.0.0/8", "10.0.0.1", NULL, ACL_YES },
    { "x dst 10.0.0.0/8", "11.0.0.1", NULL, ACL_NO },
    { "x dst 127.0.0.0/8", "::ffff:127.0.0.1", NULL, ACL_YES },
    { "x dstdomain .example.org", NULL, NULL, ACL_YES },
    { "x dstdomain .EXAMPLE.org.", NULL, NULL, ACL_YES },
    { "x dstdomain example.org", NULL, NULL, ACL_NO },
    { "x dstdomain 10.0.0.1", "10.0.0.1", NULL, ACL_YES },
    { "x dstdomain 127.0.0.1", "::ffff:127.0.0.1", NULL, ACL_YES },
    { "x dstdomain ::ffff:127.0.0.1", "127.0.0.1", NULL, ACL_YES },
    { "x dstdomain [2001:DB8:0::1]", "2001:db8::1", NULL, ACL_YES },
    { "x dstdom_regex ^www\\.", NULL, NULL, ACL_YES },
    { "x dstdom_regex ^WWW", NULL, NULL, ACL_NO },
    { "x dstdom_regex -i ^WWW", NULL, NULL, ACL_YES },
    { "x dstdom_regex ^2001:db8::1$", "2001:db8::1", NULL, ACL_YES },
    { "x dstdom_regex ^\\[2001:db8::1\\]$", "2001:db8::1", NULL, ACL_YES },
    { "x dstdom_regex ^\\[", "10.0.0.1", NULL, ACL_NO },
    { "x dstdom_regex ^127\\.", "::ffff:127.0.0.1", NULL, ACL_YES },
    { "x port 80", NULL, NULL, ACL_YES },
    { "x port 81-65535 1-79", NULL, NULL, ACL_NO },
    { "x method HEAD GET", NULL, NULL, ACL_YES },
    { "x method get", NULL, NULL, ACL_NO },
    { "x proto HTTP", NULL, NULL, ACL_YES },
    { "x proto HTTPS cache_object", NULL, NULL, ACL_NO },
    { "x url_regex ^http://www.example.org/path", NULL, NULL, ACL_YES },
    { "x url_regex PATH", NULL, NULL, ACL_NO },
    { "x url_regex -i nope PATH", NULL, NULL, ACL_YES },
    { "x url_regex -i nope +i PATH", NULL, NULL, ACL_NO },
    { "x urlpath_regex ^/path\\?q$", NULL, NULL, ACL_YES },
    { "x urlpath_regex example", NULL, NULL, ACL_NO },
    { "x browser ^Mozilla", NULL, NULL, ACL_YES },
    { "x browser Opera", NULL, NULL, ACL_NO },
    { "x referer_regex a\\.test", NULL, NULL, ACL_YES },
    { "x req_header X-ONE ^first$", NULL, NULL, ACL_NO },
    { "x req_header X-ONE ^first,.second$", NULL, NULL, ACL_YES },
    { "x req_header X-None .", NULL, NULL, ACL_NO },
    { "x req_header User-Agent Mozilla", NULL, NULL, ACL_YES },
    { "x req_mime_type text/plain", NULL, NULL, ACL_YES },
    { "x rep_mime_type text/html", NULL, NULL, ACL_YES },
    { "x rep_header X-Two yes", NULL, NULL, ACL_YES },
    { "x rep_header X-Two no", NULL, NULL, ACL_NO },
    { "x http_status 400-499", NULL, NULL, ACL_YES },
    { "x http_status 200", NULL, NULL, ACL_NO },
    { "x rep_header x-two ^yes$", NULL, NULL, ACL_YES },
    { "x rep_header X-Three ^a,.b$", NULL, NULL, ACL_YES },
    { "x rep_header X .", NULL, NULL, ACL_NO },
    { "x rep_header HTTP/1.1 .", NULL, NULL, ACL_NO },
    { "x url_regex -i -- PATH", NULL, NULL, ACL_YES },
    { "x url_regex -- -i", NULL, NULL, ACL_NO },
    { "x url_regex -- -i path", NULL, NULL, ACL_YES },
    { "x dstdomain -n -- .example.org", NULL, NULL, ACL_YES },
    { "x maxconn 2", NULL, NULL, ACL_YES },
    { "x maxconn 3", NULL, NULL, ACL_NO },
    { "x random 1", NULL, NULL, ACL_YES },
    { "x random 0/7", NULL, NULL, ACL_NO },
    { "x hier_code HIER_DIRECT FIRSTUP_PARENT", NULL, NULL, ACL_YES },
    { "x hier_code HIER_DIRECT", NULL, NULL, ACL_NO },
    { "x peername other upstream", NULL, NULL, ACL_YES },
    { "x peername Upstream", NULL, NULL, ACL_NO },
    { "x peername_regex -i ^UP", NULL, NULL, ACL_YES },
    { "x peername_regex ^UP", NULL, NULL, ACL_NO },
    { "x squid_error ERR_READ_TIMEOUT ERR_DNS_FAIL", NULL, NULL, ACL_YES },
    { "x squid_error ERR_READ_TIMEOUT", NULL, NULL, ACL_NO },
    { "x has request", NULL, NULL, ACL_YES },
    { "x has response", NULL, NULL, ACL_YES },
    { "x has ALE", NULL, NULL, ACL_YES },
    { "x transaction_initiator client", NULL, NULL, ACL_YES },
    { "x transaction_initiator all", NULL, NULL, ACL_YES },
    { "x transaction_initiator internal icp", NULL, NULL, ACL_NO },
    { "x urllogin .", NULL, NULL, ACL_NO },
    { "x time SMTWHFA 00:00-24:00", NULL, NULL, ACL_YES },
    { "x any-of localhost x1", NULL, NULL, ACL_YES },
    { "x any-of localhost !x1", NULL, NULL, ACL_NO },
    { "x all-of !localhost x1", NULL, NULL, ACL_YES },
    { "x all-of localhost x1", NULL, NULL, ACL_NO },
    { "x any-of x1 to_localhost", NULL, NULL, ACL_YES },
    { "x any-of localhost to_localhost", NULL, NULL, ACL_NEED_DST },
    { "x all-of localhost to_localhost", NULL, NULL, ACL_NO },
    { "x all-of x1 !to_localhost", NULL, NULL, ACL_NEED_DST },
    { "x all-of x1 !to_localhost", NULL, "192.0.2.80", ACL_YES },
};

static size_t parse_addresses(const char *text, struct addr out[LINE_WORDS])
{
    struct span words[LINE_WORDS];
    size_t n = line_words(text, words);

    for (size_t i = 0; i < n; i++)
        assert_true(addr_parse(words[i], &out[i]));
    return n;
}

static void facts_are_asked(void **state)
{
    static struct head request;

    (void)state;
    head_of_request(&request, request_text);
    for (size_t i = 0; i < LENGTH(answers); i++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();
        struct addr dst[LINE_WORDS];
        enum acl_answer got;

        f.request = &request;
        f.reply_head = span_str(response_text);
        f.status = 404;
        f.hier = SPAN("FIRSTUP_PARENT");
        f.peer_name = SPAN("upstream");
        f.error_name = SPAN("ERR_DNS_FAIL");
        f.client_connections = 3;
        if (answers[i].host != NULL)
            set_host(&f, answers[i].host);
        if (answers[i].dst != NULL) {
            f.dst_known = true;
            f.dst = dst;
            f.n_dst = parse_addresses(answers[i].dst, dst);
        }
        define(s, "x1 src 192.0.2.7");
        define(s, answers[i].line);
        got = acl_matches(acl_find(s, SPAN("x")), &f);
        if (got != answers[i].want)
            fail_msg("acl %s, host %.*s: answer %d", answers[i].line, SPAN_ARG(f.host), (int)got);
        acl_set_free(&s);
    }
}

/* What addresses are called. */
static const struct {
    const char *line, *host; /* host NULL: a name; srcdom... is about the client */
    bool may_ask, known;
    enum name_trust trust;
    enum acl_answer want;
} called[] = {
    { "x srcdomain .good.test", NULL, true, false, NAME_NONE, ACL_NEED_CLIENT_NAME },
    { "x srcdom_regex good", NULL, true, false, NAME_NONE, ACL_NEED_CLIENT_NAME },
    { "x srcdomain .good.test", NULL, false, false, NAME_NONE, ACL_UNDECIDED },
    { "x srcdomain .good.test", NULL, false, true, NAME_CONFIRMED, ACL_YES },
    { "x srcdomain .other.test none", NULL, true, true, NAME_CONFIRMED, ACL_NO },
    { "x srcdomain .good.test", NULL, true, true, NAME_UNCONFIRMED, ACL_UNDECIDED },
    { "x srcdomain .other.test", NULL, true, true, NAME_UNCONFIRMED, ACL_NO },
    { "x srcdomain none", NULL, true, true, NAME_UNCONFIRMED, ACL_YES },
    { "x srcdomain .good.test", NULL, true, true, NAME_NONE, ACL_NO },
    { "x srcdomain none", NULL, true, true, NAME_NONE, ACL_YES },
    { "x srcdom_regex -i ^A\\.GOOD", NULL, true, true, NAME_CONFIRMED, ACL_YES },
    { "x srcdom_regex ^A", NULL, true, true, NAME_CONFIRMED, ACL_NO },
    { "x srcdom_regex good", NULL, true, true, NAME_UNCONFIRMED, ACL_UNDECIDED },
    { "x srcdom_regex ^none$", NULL, true, true, NAME_NONE, ACL_YES },
    { "x dstdomain .good.test", NULL, true, false, NAME_NONE, ACL_NO },
    { "x dstdomain .good.test", "10.0.0.1", true, false, NAME_NONE, ACL_NEED_HOST_NAME },
    { "x dstdomain .good.test 10.0.0.1", "10.0.0.1", true, false, NAME_NONE, ACL_YES },
    { "x dstdomain .good.test", "10.0.0.1", false, false, NAME_NONE, ACL_NO },
    { "x dstdomain -n .good.test", "10.0.0.1", true, false, NAME_NONE, ACL_NO },
    { "x dstdomain -n .good.test", "10.0.0.1", true, true, NAME_CONFIRMED, ACL_NO },
    { "x dstdomain .good.test", "2001:db8::1", true, true, NAME_CONFIRMED, ACL_YES },
    { "x dstdomain .good.test", "10.0.0.1", true, true, NAME_UNCONFIRMED, ACL_UNDECIDED },
    { "x dstdomain none", "10.0.0.1", true, true, NAME_NONE, ACL_YES },
    { "x dstdom_regex good", "10.0.0.1", true, false, NAME_NONE, ACL_NEED_HOST_NAME },
    { "x dstdom_regex ^10", "10.0.0.1", true, false, NAME_NONE, ACL_YES },
    { "x dstdom_regex -n good", "10.0.0.1", true, false, NAME_NONE, ACL_NO },
    { "x dstdom_regex good", "10.0.0.1", true, true, NAME_CONFIRMED, ACL_YES },
    { "x dstdom_regex good", "10.0.0.1", true, true, NAME_UNCONFIRMED, ACL_UNDECIDED },
};

static void names_of_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(called); i++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();
        const struct address_name name = { called[i].known, called[i].trust,
                                           called[i].trust == NAME_NONE ? SPAN("") : SPAN("a.good.test") };
        enum acl_answer got;

        if (called[i].host != NULL)
            set_host(&f, called[i].host);
        f.may_ask_names = called[i].may_ask;
        if (strncmp(called[i].line, "x srcdom", 8) == 0)
            f.client_name = name;
        else
            f.host_name = name;
        define(s, called[i].line);
        got = acl_matches(acl_find(s, SPAN("x")), &f);
        if (got != called[i].want)
            fail_msg("%zu: acl %s: answer %d", i, called[i].line, (int)got);
        acl_set_free(&s);
    }
}

/* An unconfirmed name lets no allow line match, and every deny line that it would, whichever way the words stand. */
static void a_name_that_is_not_confirmed_only_counts_against(void **state)
{
    static const struct {
        const char *line;
        enum access_answer want;
    } lists[] = {
        { "allow good", ACCESS_DENIED }, { "deny good", ACCESS_DENIED },   { "allow !good", ACCESS_DENIED },
        { "deny !good", ACCESS_DENIED }, { "deny other", ACCESS_ALLOWED }, { "allow !other", ACCESS_ALLOWED },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(lists); i++) {
        struct acl_set *s = acl_set_new();
        struct access_list *l = access_list_new(true);
        struct access_facts f = example_facts();
        struct acl_problem p;
        struct span words[LINE_WORDS];
        size_t n = line_words(lists[i].line, words);

        f.client_name = (struct address_name){ true, NAME_UNCONFIRMED, SPAN("a.good.test") };
        define(s, "good srcdomain .good.test");
        define(s, "other srcdomain .other.test");
        assert_true(access_list_add(l, s, words, n, "f:1", &p));
        if (access_check(l, &f).answer != lists[i].want)
            fail_msg("%s", lists[i].line);
        access_list_free(&l);
        acl_set_free(&s);
    }
}

static void users_of_external_acls(void **state)
{
    static const struct {
        const char *line, *user;
        enum acl_answer want;
    } users[] = {
        { "x ext_user joe", "joe", ACL_YES },         { "x ext_user joe", "Joe", ACL_NO },
        { "x ext_user -i joe", "JOE", ACL_YES },      { "x ext_user REQUIRED", "joe", ACL_YES },
        { "x ext_user REQUIRED", NULL, ACL_NO },      { "x ext_user_regex ^j", "joe", ACL_YES },
        { "x ext_user_regex -i ^J", "joe", ACL_YES }, { "x ext_user_regex .*", NULL, ACL_NO },
        { "x ext_user_regex ^k", "joe", ACL_NO },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(users); i++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();

        f.notes = notes_new();
        notes_add(f.notes, SPAN("users"), SPAN("joe"), true);
        if (users[i].user != NULL)
            notes_add(f.notes, SPAN("user"), span_str(users[i].user), true);
        define(s, users[i].line);
        if (acl_matches(acl_find(s, SPAN("x")), &f) != users[i].want)
            fail_msg("%s: %s", users[i].line, users[i].user ? users[i].user : "nobody");
        notes_unref(&f.notes);
        acl_set_free(&s);
    }
}

/* Without a response (http_access) or a head there is nothing to match. */
static void missing_heads_match_nothing(void **state)
{
    static const char *const lines[] = { "x rep_header X-Two .",
                                         "x rep_mime_type .",
                                         "x http_status 100-999",
                                         "x browser .",
                                         "x req_header Host .",
                                         "x has request response",
                                         "x hier_code HIER_DIRECT",
                                         "x peername a",
                                         "x peername_regex .*",
                                         "x squid_error ERR_DNS_FAIL",
                                         "x maxconn 0" };

    (void)state;
    for (size_t i = 0; i < LENGTH(lines); i++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();

        define(s, lines[i]);
        if (acl_matches(acl_find(s, SPAN("x")), &f) != ACL_NO)
            fail_msg("%s", lines[i]);
        acl_set_free(&s);
    }
}

/* ---- annotations ---- */

static bool has_note(struct acl_set *s, const char *line, const struct access_facts *f)
{
    char name[16];
    static unsigned n;
    char *text;
    struct strbuf out = { 0 };
    bool yes;

    snprintf(name, sizeof name, "t%u", n++);
    sb_printf(&out, "%s note %s", name, line);
    text = out.p;
    define(s, text);
    yes = acl_matches(acl_find(s, span_str(name)), f) == ACL_YES;
    sb_free(&out);
    return yes;
}

static void annotate(struct acl_set *s, const char *name, const char *line, const struct access_facts *f)
{
    define(s, line);
    assert_int_equal(acl_matches(acl_find(s, span_str(name)), f), ACL_YES);
}

static void annotations_are_made_and_asked_about(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();
    struct span name, value;

    (void)state;
    annotate(s, "nowhere", "nowhere annotate_transaction team=none", &f);
    assert_false(has_note(s, "team", &f));
    f.notes = notes_new();
    f.client_notes = notes_new();
    assert_false(has_note(s, "team", &f));
    annotate(s, "a", "a annotate_transaction team=red floor=3", &f);
    assert_true(has_note(s, "team", &f) && has_note(s, "team blue red", &f) && has_note(s, "floor 3", &f));
    assert_false(has_note(s, "team blue", &f) || has_note(s, "Team", &f) || has_note(s, "red", &f));
    annotate(s, "b", "b annotate_transaction team+=blue", &f);
    annotate(s, "again", "again annotate_transaction team+=blue", &f);
    assert_true(has_note(s, "team red", &f) && has_note(s, "team blue", &f));
    assert_true(notes_at(f.notes, 2, &name, &value) && span_eq(value, SPAN("blue")));
    assert_false(notes_at(f.notes, 3, &name, &value));
    annotate(s, "c", "c annotate_transaction team=grey,green;black", &f);
    assert_false(has_note(s, "team red", &f) || has_note(s, "team green", &f));
    assert_true(has_note(s, "team grey,green;black", &f) && has_note(s, "-m team grey", &f));
    assert_true(has_note(s, "-m=;, team green", &f) && has_note(s, "-m=; -- team black", &f));
    assert_false(has_note(s, "-m team green", &f) || has_note(s, "-m team gre", &f));
    assert_false(notes_at(f.client_notes, 0, &name, &value));
    annotate(s, "d", "d annotate_client who=me", &f);
    assert_true(has_note(s, "who me", &f));
    notes_unref(&f.notes);
    assert_true(has_note(s, "who me", &f));
    assert_false(has_note(s, "floor", &f));
    notes_unref(&f.client_notes);
    acl_set_free(&s);
}

/* The share is kept, the answer to one draw stays, and two ACLs don't throw the same dice. */
static void chance_is_fair_and_steady(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();
    unsigned hits = 0, both = 0;

    (void)state;
    define(s, "x random 1/4");
    define(s, "y random 1:3");
    for (f.draw = 1; f.draw <= 100000; f.draw++) {
        enum acl_answer x = acl_matches(acl_find(s, SPAN("x")), &f), y = acl_matches(acl_find(s, SPAN("y")), &f);

        hits += x == ACL_YES;
        both += x == ACL_YES && y == ACL_YES;
        assert_int_equal(acl_matches(acl_find(s, SPAN("x")), &f), x);
    }
    assert_in_range(hits, 24000, 26000); /* 7 standard deviations */
    assert_in_range(both, 5700, 6800);
    acl_set_free(&s);
}

static void escapes_hide_nothing_from_url_patterns(void **state)
{
    static const struct {
        const char *url;
        enum acl_answer want;
    } urls[] = {
        { "http://a.test/?%66orbidden", ACL_YES },  { "http://a.test/?%46orbidden", ACL_NO },
        { "http://a.test/?%2566orbidden", ACL_NO }, { "http://a.test/?%6", ACL_NO },
        { "http://a.test/%zz%forbidden", ACL_YES },
    };
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();
    char *url = xmalloc(20000);

    (void)state;
    define(s, "x url_regex forbidden");
    for (size_t i = 0; i < LENGTH(urls); i++) {
        f.url = span_str(urls[i].url);
        if (acl_matches(acl_find(s, SPAN("x")), &f) != urls[i].want)
            fail_msg("%s", urls[i].url);
    }
    memset(url, 'a', 20000); /* longer than what fits on the stack */
    memcpy(url + 19980, "%66orbidden", 11);
    f.url = span_of(url, 20000);
    assert_int_equal(acl_matches(acl_find(s, SPAN("x")), &f), ACL_YES);
    free(url);
    acl_set_free(&s);
}

static void endless_patterns_are_undecided(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();

    (void)state;
    define(s, "x urlpath_regex ^/(a+)+$");
    f.path = SPAN("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    assert_int_equal(acl_matches(acl_find(s, SPAN("x")), &f), ACL_UNDECIDED);
    acl_set_free(&s);
}

static void unknown_methods_are_compared_by_name(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();

    (void)state;
    define(s, "x method GET PROPFIND");
    f.method = METHOD_OTHER;
    f.method_name = SPAN("PROPFIND");
    assert_int_equal(acl_matches(acl_find(s, SPAN("x")), &f), ACL_YES);
    f.method_name = SPAN("propfind");
    assert_int_equal(acl_matches(acl_find(s, SPAN("x")), &f), ACL_NO);
    acl_set_free(&s);
}

static void today_is_the_day(void **state)
{
    static const char letters[] = "SMTWHFA";
    int yes = 0;

    (void)state;
    /* One of the seven days it is; both sides of a midnight in between would still be one. */
    for (int day = 0; day < 7; day++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();
        char line[32];

        snprintf(line, sizeof line, "x time %c", letters[day]);
        define(s, line);
        yes += acl_matches(acl_find(s, SPAN("x")), &f) == ACL_YES;
        acl_set_free(&s);
    }
    assert_in_range(yes, 1, 2);
}

/* ---- the built-in ones ---- */

static const struct {
    const char *name, *address; /* the client's, and the literal host's */
    enum acl_answer want;
} built_in[] = {
    { "all", "192.0.2.7", ACL_YES },
    { "all", "2001:db8::1", ACL_YES },
    { "localhost", "127.0.0.1", ACL_YES },
    { "localhost", "::1", ACL_YES },
    { "localhost", "::ffff:127.0.0.1", ACL_YES },
    { "localhost", "127.0.0.2", ACL_NO },
    { "localhost", "192.0.2.7", ACL_NO },
    { "to_localhost", "127.0.0.1", ACL_YES },
    { "to_localhost", "127.255.255.255", ACL_YES },
    { "to_localhost", "0.0.0.0", ACL_YES },
    { "to_localhost", "::1", ACL_YES },
    { "to_localhost", "::", ACL_YES },
    { "to_localhost", "::ffff:127.0.0.1", ACL_YES },
    { "to_localhost", "128.0.0.1", ACL_NO },
    { "to_linklocal", "169.254.169.254", ACL_YES },
    { "to_linklocal", "fe80::1", ACL_YES },
    { "to_linklocal", "febf::1", ACL_YES },
    { "to_linklocal", "fec0::1", ACL_NO },
    { "to_linklocal", "169.253.1.1", ACL_NO },
};

static void built_in_addresses(void **state)
{
    struct acl_set *s = acl_set_new();

    (void)state;
    for (size_t i = 0; i < LENGTH(built_in); i++) {
        struct access_facts f = example_facts();

        f.client = addr_of(built_in[i].address, 1);
        set_host(&f, built_in[i].address);
        if (acl_matches(acl_find(s, span_str(built_in[i].name)), &f) != built_in[i].want)
            fail_msg("%s of %s", built_in[i].name, built_in[i].address);
    }
    acl_set_free(&s);
}

static void built_in_facts(void **state)
{
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();

    (void)state;
    assert_int_equal(acl_matches(acl_find(s, SPAN("CONNECT")), &f), ACL_NO);
    assert_int_equal(acl_matches(acl_find(s, SPAN("manager")), &f), ACL_NO);
    f.method = METHOD_CONNECT;
    f.is_manager = true;
    assert_int_equal(acl_matches(acl_find(s, SPAN("connect")), &f), ACL_YES);
    assert_int_equal(acl_matches(acl_find(s, SPAN("manager")), &f), ACL_YES);
    assert_null(acl_find(s, SPAN("nobody")));
    acl_set_free(&s);
}

/* ---- printing ---- */

static void the_set_is_printed(void **state)
{
    static const char want[] = "acl all src all \n"
                               "acl localhost src 127.0.0.1 ::1 \n"
                               "acl to_localhost dst 0.0.0.0 127.0.0.0/8 ::/127 \n"
                               "acl to_linklocal dst 169.254.0.0/16 fe80::/10 \n"
                               "acl CONNECT method CONNECT \n"
                               "acl manager url_regex -i (^cache_object://) +i (^[^:]+://[^/]+/squid-internal-mgr/) \n"
                               "acl Safe_ports port 80 443 1025-65535 \n"
                               "acl m method GET PROPFIND \n"
                               "acl r url_regex a -i b c +i d \n"
                               "acl h req_header X-Y -i a \n"
                               "acl b browser z \n"
                               "acl d dstdomain .x.test y.test \n"
                               "acl t time MTWHF 08:00-18:00 \n"
                               "acl any any-of m !r h \n"
                               "acl both all-of m r \n"
                               "acl both all-of !h \n"
                               "acl n note -m=, team a b \n"
                               "acl an annotate_client a=1 b+=2 \n"
                               "acl chance random 1/4 \n"
                               "acl most maxconn 7 \n";
    struct acl_set *s = acl_set_new();
    struct strbuf out = { 0 };

    (void)state;
    define(s, "Safe_ports port 443");
    define(s, "Safe_ports port 1025-65535 80");
    define(s, "m method PROPFIND GET");
    define(s, "r url_regex a -i b c +i d");
    define(s, "h req_header X-Y -i a");
    define(s, "b browser z");
    define(s, "d dstdomain .X.test y.test.");
    define(s, "t time D 8:00-18:00");
    define(s, "any any-of m !r");
    define(s, "any any-of h");
    define(s, "both all-of m r");
    define(s, "both all-of !h");
    define(s, "n note -m team a b");
    define(s, "an annotate_client a=1 b+=2");
    define(s, "chance random 1/4");
    define(s, "most maxconn 7");
    acl_set_print(s, &out);
    assert_string_equal(out.p, want);
    assert_string_equal(acl_type_name(acl_find(s, SPAN("d"))), "dstdomain");
    assert_true(span_eq(acl_name(acl_find(s, SPAN("SAFE_PORTS"))), SPAN("Safe_ports")));
    sb_free(&out);
    acl_set_free(&s);
}

/* Every type's name is one that can be defined. */
static void type_names_are_types(void **state)
{
    struct acl_set *s = acl_set_new();

    (void)state;
    for (const char *const *name = acl_type_names(); *name != NULL; name++) {
        struct span words[] = { span_str(*name), span_str(*name) };
        struct acl_problem p;

        acl_define(s, words, 2, &p);
        if (strstr(p.text, "unknown") != NULL || strstr(p.text, "supported") != NULL)
            fail_msg("%s: %s", *name, p.text);
    }
    acl_set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_judged),
        cmocka_unit_test(failed_acls_are_undecided),
        cmocka_unit_test(facts_are_asked),
        cmocka_unit_test(names_of_addresses),
        cmocka_unit_test(a_name_that_is_not_confirmed_only_counts_against),
        cmocka_unit_test(users_of_external_acls),
        cmocka_unit_test(missing_heads_match_nothing),
        cmocka_unit_test(annotations_are_made_and_asked_about),
        cmocka_unit_test(chance_is_fair_and_steady),
        cmocka_unit_test(escapes_hide_nothing_from_url_patterns),
        cmocka_unit_test(endless_patterns_are_undecided),
        cmocka_unit_test(unknown_methods_are_compared_by_name),
        cmocka_unit_test(today_is_the_day),
        cmocka_unit_test(built_in_addresses),
        cmocka_unit_test(built_in_facts),
        cmocka_unit_test(the_set_is_printed),
        cmocka_unit_test(type_names_are_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
