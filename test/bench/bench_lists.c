/* Lists as large as people feed them: what they cost to build, to hold and to ask. Texts and questions are made before
 * the clock starts, which counts this thread's own time; the best of five passes is told. */
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "access/addr_set.h"
#include "access/domain_set.h"
#include "access/regex_set.h"
#include "base/mem.h"

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
    printf("    %s: %.0f ns\n", what, (double)best / n);
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

int main(void)
{
    texts = xcalloc(NAMES, sizeof *texts);
    questions = xcalloc(QUESTIONS, sizeof *questions);
    for (unsigned i = 0; i < NAMES; i++)
        name_of(texts[i], i);
    domains();
    networks(AF_INET, "networks of IPv4");
    networks(AF_INET6, "networks of IPv6");
    regexes(false);
    regexes(true);
    free(texts);
    free(questions);
    return 0;
}
