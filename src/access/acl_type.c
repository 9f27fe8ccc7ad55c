#include "access/acl_type.h"

#include <time.h>
#include "access/addr_set.h"
#include "access/number_set.h"
#include "access/time_set.h"
#include "access/word_set.h"

/* The matchers: each picks a fact and asks its set. On the hit path: no allocation but for URLs with escapes, no
 * lock. */

static enum acl_answer yes_if(bool condition)
{
    return condition ? ACL_YES : ACL_NO;
}

static enum acl_answer match_src(const void *values, const struct access_facts *f)
{
    return yes_if(addr_set_contains(values, &f->client));
}

static enum acl_answer match_local_address(const void *values, const struct access_facts *f)
{
    return yes_if(addr_set_contains(values, &f->local));
}

/* Any address in the set counts: a name with one good and one bad address is a bad name (hostile-inputs J22). */
static enum acl_answer match_dst(const void *values, const struct access_facts *f)
{
    if (f->host_is_address)
        return yes_if(addr_set_contains(values, &f->host_addr));
    if (!f->dst_known)
        return ACL_NEED_DST;
    for (size_t i = 0; i < f->n_dst; i++)
        if (addr_set_contains(values, &f->dst[i]))
            return ACL_YES;
    return ACL_NO;
}

static enum acl_answer match_port(const void *values, const struct access_facts *f)
{
    return yes_if(number_set_contains(values, f->port));
}

static enum acl_answer match_local_port(const void *values, const struct access_facts *f)
{
    return yes_if(number_set_contains(values, f->local.port));
}

static enum acl_answer match_port_name(const void *values, const struct access_facts *f)
{
    return yes_if(word_set_contains(values, f->port_name));
}

static enum acl_answer match_external(const void *values, const struct access_facts *f)
{
    return external_use_match(values, f);
}

static enum acl_answer match_tag(const void *values, const struct access_facts *f)
{
    struct span name, value;

    for (size_t i = 0; notes_at(f->notes, i, &name, &value); i++)
        if (span_eq(name, SPAN("tag")) && word_set_contains(values, value))
            return ACL_YES;
    return ACL_NO;
}

static enum acl_answer match_domain(const void *values, const struct access_facts *f)
{
    const struct acl_domains *d = values;
    char text[ADDR_TEXT_MAX];

    if (acl_domains_test(d, f->host) == ACL_YES)
        return ACL_YES;
    if (!f->host_is_address)
        return ACL_NO;
    /* [::ffff:127.0.0.1] is another spelling of 127.0.0.1, not a way around it (J06). */
    if (f->host_addr.family == AF_INET && memchr(f->host.p, ':', f->host.len) != NULL &&
        acl_domains_test(d, span_of(text, addr_print(&f->host_addr, text))) == ACL_YES)
        return ACL_YES;
    return d->no_lookup ? ACL_NO : acl_host_name_match(f, acl_domains_test, d);
}

static enum acl_answer match_client_domain(const void *values, const struct access_facts *f)
{
    return acl_client_name_match(f, acl_domains_test, values);
}

static enum acl_answer match_client_pattern(const void *values, const struct access_facts *f)
{
    return acl_client_name_match(f, acl_patterns_test, values);
}

static enum acl_answer match_method(const void *values, const struct access_facts *f)
{
    return yes_if(method_set_contains(values, f->method, f->method_name));
}

static enum acl_answer match_scheme(const void *values, const struct access_facts *f)
{
    return yes_if(word_set_contains(values, f->scheme));
}

static enum acl_answer match_status(const void *values, const struct access_facts *f)
{
    return yes_if(f->status > 0 && f->status < 1000 && number_set_contains(values, (uint16_t)f->status));
}

static enum acl_answer match_url_pattern(const void *values, const struct access_facts *f)
{
    return acl_patterns_match_unescaped(values, f->url);
}

static enum acl_answer match_path_pattern(const void *values, const struct access_facts *f)
{
    return acl_patterns_match_unescaped(values, f->path);
}

/* An IPv6 literal is tried in brackets as well, as URLs and other people's lists have it (`^\[`), and one that is an IPv4
 * address in disguise as that (J06): no spelling is a way around a deny. */
static enum acl_answer match_host_text(const void *values, const struct access_facts *f)
{
    enum acl_answer answer = acl_patterns_match(values, f->host), other;
    char text[ADDR_TEXT_MAX + 2];
    size_t n;

    if (answer == ACL_YES || !f->host_is_address || memchr(f->host.p, ':', f->host.len) == NULL)
        return answer;
    n = addr_print(&f->host_addr, text + 1);
    if (f->host_addr.family == AF_INET) {
        other = acl_patterns_match(values, span_of(text + 1, n));
    } else {
        text[0] = '[';
        text[n + 1] = ']';
        other = acl_patterns_match(values, span_of(text, n + 2));
    }
    return other == ACL_NO ? answer : other;
}

static enum acl_answer match_host_pattern(const void *values, const struct access_facts *f)
{
    enum acl_answer answer = match_host_text(values, f);

    if (answer != ACL_NO || !f->host_is_address || acl_patterns_forbid_lookup(values))
        return answer;
    return acl_host_name_match(f, acl_patterns_test, values);
}

static enum acl_answer match_request_field(const void *values, const struct access_facts *f)
{
    return acl_patterns_match_field(values, f->request);
}

static enum acl_answer match_reply_field(const void *values, const struct access_facts *f)
{
    return acl_patterns_match_block(values, f->reply_head);
}

/* What is there to be asked about. The log entry (ALE) always is. */
static enum acl_answer match_has(const void *values, const struct access_facts *f)
{
    return yes_if(word_set_contains(values, SPAN("ALE")) ||
                  (f->request != NULL && word_set_contains(values, SPAN("request"))) ||
                  (f->status != 0 && word_set_contains(values, SPAN("response"))));
}

static enum acl_answer match_hier(const void *values, const struct access_facts *f)
{
    return yes_if(word_set_contains(values, f->hier));
}

static enum acl_answer match_peer_name(const void *values, const struct access_facts *f)
{
    return yes_if(f->peer_name.len > 0 && word_set_contains(values, f->peer_name));
}

static enum acl_answer match_peer_pattern(const void *values, const struct access_facts *f)
{
    return f->peer_name.len > 0 ? acl_patterns_match(values, f->peer_name) : ACL_NO;
}

static enum acl_answer match_error(const void *values, const struct access_facts *f)
{
    return yes_if(f->error_name.len > 0 && word_set_contains(values, f->error_name));
}

/* Whatever we ask about came from a client: what the proxy starts by itself passes no list. */
static enum acl_answer match_initiator(const void *values, const struct access_facts *f)
{
    (void)f;
    return yes_if(word_set_contains(values, SPAN("client")) || word_set_contains(values, SPAN("all")));
}

static enum acl_answer match_random(const void *values, const struct access_facts *f)
{
    return yes_if(chance_hits(values, f->draw));
}

static enum acl_answer match_maxconn(const void *values, const struct access_facts *f)
{
    return yes_if(limit_is_exceeded(values, f->client_connections));
}

/* A URL with a login in it is refused (400) before any list is asked, so none ever has one. */
static enum acl_answer match_login_pattern(const void *values, const struct access_facts *f)
{
    (void)values;
    (void)f;
    return ACL_NO;
}

static enum acl_answer match_note(const void *values, const struct access_facts *f)
{
    return yes_if(note_test_finds(values, f->notes) || note_test_finds(values, f->client_notes));
}

/* These are true always: what they do is why they are on a line, so they stand behind its conditions. */
static enum acl_answer annotate_transaction(const void *values, const struct access_facts *f)
{
    annotations_make_notes(values, f->notes);
    return ACL_YES;
}

static enum acl_answer annotate_client(const void *values, const struct access_facts *f)
{
    annotations_make_notes(values, f->client_notes);
    return ACL_YES;
}

static enum acl_answer match_user(const void *values, const struct access_facts *f)
{
    enum acl_answer known = acl_user_needed(f);

    return known == ACL_YES ? yes_if(user_names_contain(values, f->user, f->user_any_case)) : known;
}

static enum acl_answer match_user_pattern(const void *values, const struct access_facts *f)
{
    enum acl_answer known = acl_user_needed(f);

    return known == ACL_YES ? acl_patterns_match(values, f->user) : known;
}

/* user= of an external ACL's program; the helper's word, so letter case counts unless -i says not. */
static enum acl_answer match_external_user(const void *values, const struct access_facts *f)
{
    struct span name, value;

    for (size_t i = 0; notes_at(f->notes, i, &name, &value); i++)
        if (span_eq(name, SPAN("user")) && value.len > 0 && user_names_contain(values, value, false))
            return ACL_YES;
    return ACL_NO;
}

static enum acl_answer match_external_user_pattern(const void *values, const struct access_facts *f)
{
    enum acl_answer any = ACL_NO;
    struct span name, value;

    for (size_t i = 0; any != ACL_YES && notes_at(f->notes, i, &name, &value); i++)
        if (span_eq(name, SPAN("user")) && value.len > 0) {
            enum acl_answer one = acl_patterns_match(values, value);

            any = one == ACL_NO ? any : one;
        }
    return any;
}

static enum acl_answer match_user_limit(const void *values, const struct access_facts *f)
{
    enum acl_answer known = acl_user_needed(f);

    return known == ACL_YES ? yes_if(user_limit_is_exceeded(values, f)) : known;
}

static enum acl_answer match_group(const void *values, const struct access_facts *f)
{
    return acl_group_match(values, f);
}

/* localtime_r() takes libc's lock and some 100 ns: once a minute and thread is enough. */
static enum acl_answer match_time(const void *values, const struct access_facts *f)
{
    static _Thread_local struct {
        time_t minute;
        int weekday, minute_of_day;
    } now = { .minute = -1 };
    time_t t = time(NULL);

    (void)f;
    if (t / 60 != now.minute) {
        struct tm local;

        localtime_r(&t, &local);
        now.minute = t / 60;
        now.weekday = local.tm_wday;
        now.minute_of_day = local.tm_hour * 60 + local.tm_min;
    }
    return yes_if(time_set_contains(values, now.weekday, now.minute_of_day));
}

static const struct acl_type types[] = {
#define ACL_TYPE(name, kind, matcher, field, values, meaning) { name, &(kind), matcher, field },
#include "access/acl_type.def"
#undef ACL_TYPE
};

static const struct {
    const char *old, *name;
} old_names[] = {
    { "myip", "localip" },
    { "myport", "localport" },
};

static const char *const names[] = {
#define ACL_TYPE(name, kind, matcher, field, values, meaning) name,
#include "access/acl_type.def"
#undef ACL_TYPE
    "myip",
    "myport",
    NULL,
};

#define NO_BUMP "nothing is decrypted here; take it out, with the lines that use it"
#define NO_IDENT "there is no ident; use proxy_auth, see auth_param"
#define NO_HARDWARE "hardware addresses aren't looked up; use src"
#define NO_MARKS "marks on packets aren't read; use src or myportname"
#define NO_AS "list the networks instead, with "

/* Squid's that we don't have, and what to do instead. They are refused by name: an acl that never matches makes a hole of
 * the deny line it is on. */
static const struct {
    const char *name, *instead;
} missing[] = {
    { "adaptation_service", "there are no such services; take it out, with the lines that use it" },
    { "arp", NO_HARDWARE },
    { "at_step", NO_BUMP },
    { "ca_cert", NO_BUMP },
    { "clientside_mark", NO_MARKS },
    { "client_connection_mark", NO_MARKS },
    { "connections_encrypted", NO_BUMP },
    { "dst_as", NO_AS "dst" },
    { "eui64", NO_HARDWARE },
    { "ident", NO_IDENT },
    { "ident_regex", NO_IDENT },
    { "server_cert_fingerprint", NO_BUMP },
    { "snmp_community", "there is no SNMP; take it out, with the lines that use it" },
    { "src_as", NO_AS "src" },
    { "ssl::certDomainMismatch", NO_BUMP },
    { "ssl::certHasExpired", NO_BUMP },
    { "ssl::certNotYetValid", NO_BUMP },
    { "ssl::certSelfSigned", NO_BUMP },
    { "ssl::certUntrusted", NO_BUMP },
    { "ssl::server_name", "of a tunnel only the host it goes to is known: use dstdomain" },
    { "ssl::server_name_regex", "of a tunnel only the host it goes to is known: use dstdom_regex" },
    { "ssl_error", NO_BUMP },
    { "user_cert", NO_BUMP },
};

const struct acl_type *acl_type_find(struct span name)
{
    for (size_t i = 0; i < sizeof old_names / sizeof old_names[0]; i++)
        if (span_eq(name, span_str(old_names[i].old)))
            name = span_str(old_names[i].name);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (span_eq(name, span_str(types[i].name)))
            return &types[i];
    return NULL;
}

const char *acl_type_instead(struct span name)
{
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (span_eq(name, span_str(missing[i].name)))
            return missing[i].instead;
    return NULL;
}

const char *const *acl_type_names(void)
{
    return names;
}

static void *broken_make(const struct acl_type *type)
{
    (void)type;
    return NULL;
}

static bool broken_parse(const struct acl_line *l, void *values)
{
    (void)l;
    (void)values;
    return true;
}

static void broken_print(const struct acl *a, struct strbuf *out)
{
    (void)a;
    (void)out;
}

static void broken_release(void *values)
{
    (void)values;
}

static enum acl_answer match_broken(const void *values, const struct access_facts *f)
{
    (void)values;
    (void)f;
    return ACL_UNDECIDED;
}

static const struct acl_kind kind_broken = { broken_make, broken_parse, broken_print, broken_release };
const struct acl_type acl_type_broken = { "unsupported", &kind_broken, match_broken, NULL };
