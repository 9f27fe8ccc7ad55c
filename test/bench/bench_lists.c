/* Lists as large as people feed them: what they cost to build, to hold and to ask. Texts and questions are made before
 * the clock starts, which counts this thread's own time; the best of five passes is told. */
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "access/access_list.h"
#include "access/addr_set.h"
#include "access/domain_set.h"
#include "access/regex_set.h"
#include "base/mem.h"
#include "hdrs/parse.h"
#include "proxy/request_access.h"

enum { NAMES = 1000000, NETWORKS = 100000, REGEXES = 200, QUESTIONS = 200000, PASSES = 5, TEXT = 64 };

static char (*texts)[TEXT], (*questions)[TEXT];
static struct addr addresses[QUESTIONS];

static size_t held(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_lists: %s\n", what);
    exit(1);
}

static void say(const char *what, size_t n, int64_t built_ns, size_t bytes)
{
    printf("%zu %s: built in %.3f s, %.1f bytes each\n", n, what, (double)built_ns / 1e9, (double)bytes / (double)n);
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Is question i answered with yes? */
typedef bool asker(const void *list, unsigned i);

static void ask(const char *what, asker *asks, const void *list, unsigned n, size_t expected)
{
    int64_t best = INT64_MAX;

    for (int pass = 0; pass < PASSES; pass++) {
        int64_t start = cpu_ns(), took;
        size_t hits = 0;

        for (unsigned i = 0; i < n; i++)
            hits += asks(list, i);
        took = cpu_ns() - start;
        best = took < best ? took : best;
        if (hits != expected)
            fail("a wrong answer");
    }
    printf("    %s: %.1f ns\n", what, (double)best / n);
}

static void name_of(char out[TEXT], unsigned i)
{
    snprintf(out, TEXT, "host-%x.zone%u.test", i * 2654435761u, i % 1000);
}

static bool ask_domain(const void *list, unsigned i)
{
    return domain_set_matches(list, span_str(questions[i]));
}

static void domains(void)
{
    struct domain_set *s = domain_set_new();
    size_t before = held();
    int64_t start = cpu_ns();

    for (unsigned i = 0; i < NAMES; i++)
        if (!domain_set_add(s, span_str(texts[i])))
            fail("a name is refused");
    say("dstdomain names", NAMES, cpu_ns() - start, held() - before);
    for (unsigned other = 0; other <= 1; other++) {
        for (unsigned i = 0; i < QUESTIONS; i++)
            name_of(questions[i], other * NAMES + i * 7919u % NAMES);
        ask(other ? "a host that isn't listed" : "one that is", ask_domain, s, QUESTIONS, other ? 0 : QUESTIONS);
    }
    domain_set_free(&s);
}

/* Every other network of a row, in an order that is none: /24s from 16.0.0.0 on, or /64s of 2001:db8::/32. */
static addr_number network(int family, uint64_t i)
{
    return family == AF_INET ? (16u << 24) + i * 512 : ((addr_number)0x20010db800000000u + i * 2) << 64;
}

static bool ask_address(const void *list, unsigned i)
{
    return addr_set_contains(list, &addresses[i]);
}

static void networks(int family, const char *what)
{
    struct addr_set *s = addr_set_new();
    addr_number last_host = family == AF_INET ? 255 : ~(addr_number)0 >> 64;
    size_t before = held();
    int64_t start = cpu_ns();

    for (unsigned i = 0; i < NETWORKS; i++) {
        addr_number first = network(family, (uint64_t)i * 7919u % NETWORKS);

        addr_set_add(s, family, first, first + last_host);
    }
    addr_set_settle(s);
    say(what, NETWORKS, cpu_ns() - start, held() - before);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        uint64_t half = (uint64_t)i * 104729u % (2 * NETWORKS);

        addresses[i] = addr_from_number(network(family, half / 2) + half % 2 * (last_host + 1) + 7, family);
    }
    ask("an address, every other one listed", ask_address, s, QUESTIONS, QUESTIONS / 2);
    addr_set_free(&s);
}

static bool ask_url(const void *list, unsigned i)
{
    return regex_set_matches(list, span_str(questions[i]));
}

/* Against URLs that none matches: every alternative must be ruled out. combine: as access lists have them. */
static void regexes(bool combine)
{
    struct regex_set *s = regex_set_new();
    char pattern[TEXT], error[128];
    int64_t start = cpu_ns();

    for (unsigned i = 0; i < REGEXES; i++) {
        snprintf(pattern, sizeof pattern, "(ads|track)%u\\.[a-z]+/banner", i);
        if (!regex_set_add(s, span_str(pattern), true, error))
            fail(error);
    }
    if (combine)
        regex_set_combine(s);
    printf("%d regular expressions, %s: built in %.3f s\n", REGEXES, combine ? "combined" : "one by one",
           (double)(cpu_ns() - start) / 1e9);
    for (unsigned i = 0; i < QUESTIONS; i++)
        snprintf(questions[i], TEXT, "http://www%u.example.org/path/%u/page.html", i % 100, i);
    ask("a URL that none matches", ask_url, s, combine ? QUESTIONS : QUESTIONS / 20, 0);
    regex_set_free(&s);
}

/* What a hit asks http_access: facts from the request, then the rules. From 10.1.2.3, for http://192.0.2.1/. */
#define RECOMMENDED                                                                                                    \
    "http_access deny !Safe_ports\nhttp_access deny CONNECT !SSL_ports\nhttp_access allow localhost manager\n"         \
    "http_access deny manager\nhttp_access allow localhost\nhttp_access deny to_localhost\n"                           \
    "http_access deny to_linklocal\nhttp_access allow localnet\nhttp_access deny all"

static const struct {
    const char *what, *rules;
} rule_sets[] = {
    { "http_access allow all", "http_access allow all" },
    { "one network of src", "http_access allow net\nhttp_access deny all" },
    { "400 networks of src", "http_access allow nets\nhttp_access deny all" },
    { "Squid's recommended rules", RECOMMENDED },
};

static struct request asked_request;

static bool ask_rules(const void *list, unsigned i)
{
    (void)i;
    return request_access_asking(list, &asked_request, false, NULL, 0).answer == ACCESS_ALLOWED;
}

/* At blanks; returns how many. */
static size_t split(char *text, struct span *words, size_t room)
{
    size_t n = 0;

    for (char *word; n < room && (word = strsep(&text, " ")) != NULL;)
        words[n++] = span_str(word);
    return n;
}

static void define(struct acl_set *set, const char *text)
{
    struct acl_problem problem;
    struct span words[32];
    char *copy = xstrdup(text);

    if (!acl_define(set, words, split(copy, words, 32), &problem))
        fail(problem.text);
    free(copy);
}

static struct acl_set *example_acls(void)
{
    struct acl_set *set = acl_set_new();
    char line[TEXT];

    define(set, "SSL_ports port 443");
    define(set, "Safe_ports port 80 21 443 70 210 1025-65535 280 488 591 777");
    define(set,
           "localnet src 0.0.0.1-0.255.255.255 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 "
           "fc00::/7 fe80::/10");
    define(set, "net src 10.0.0.0/8");
    for (unsigned i = 0; i < 400; i++) {
        snprintf(line, sizeof line, "nets src 10.%u.%u.0/24", i / 100, i % 100 * 2);
        define(set, line);
    }
    return set;
}

static struct access_list *read_rules(const struct acl_set *set, const char *rules)
{
    struct access_list *list = access_list_new(false);
    char *copy = xstrdup(rules), *rest = copy;

    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct acl_problem problem;
        struct span words[8];
        size_t n = split(line, words, 8);

        if (!access_list_add(list, set, words + 1, n - 1, "squid.conf:1", &problem))
            fail(problem.text);
    }
    free(copy);
    return list;
}

static void rules(void)
{
    static const char text[] = "GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n";
    struct acl_set *set = example_acls();
    struct head *h = xcalloc(1, sizeof *h);
    const struct parse_limits limits = { .max_bytes = 1024, .max_fields = 8 };
    struct parse_progress progress = { 0 };
    struct parse_error error;

    if (parse_request(h, text, sizeof text - 1, &limits, &progress, &error) != PARSE_DONE)
        fail("no head");
    asked_request = (struct request){ .head = h,
                                      .method = METHOD_GET,
                                      .uri = { .scheme = SPAN("http"), .host = SPAN("192.0.2.1"), .port = 80 } };
    addr_parse(SPAN("10.1.2.3"), &asked_request.client);
    addr_parse(SPAN("192.0.2.1"), &asked_request.host_addr);
    puts("a request asked about");
    for (size_t i = 0; i < sizeof rule_sets / sizeof rule_sets[0]; i++) {
        struct access_list *list = read_rules(set, rule_sets[i].rules);

        ask(rule_sets[i].what, ask_rules, list, QUESTIONS, QUESTIONS);
        access_list_free(&list);
    }
    acl_set_free(&set);
    free(h);
}

static void domain_lists(void)
{
    texts = xcalloc(NAMES, sizeof *texts);
    for (unsigned i = 0; i < NAMES; i++)
        name_of(texts[i], i);
    domains();
    free(texts);
}

static void network_lists(void)
{
    networks(AF_INET, "networks of IPv4");
    networks(AF_INET6, "networks of IPv6");
}

static void regex_lists(void)
{
    regexes(false);
    regexes(true);
}

/* All of them, or those named. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        { "domains", domain_lists }, { "networks", network_lists }, { "regexes", regex_lists }, { "rules", rules }
    };

    questions = xcalloc(QUESTIONS, sizeof *questions);
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        bool is_named = argc < 2;

        for (int i = 1; i < argc; i++)
            is_named |= strcmp(argv[i], parts[p].name) == 0;
        if (is_named)
            parts[p].run();
    }
    free(questions);
    return 0;
}
