/* Lists as large as people feed them: what they cost to build, to hold and to ask. Texts and questions are made before the
 * clock starts. */
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access/addr_set.h"
#include "access/domain_set.h"
#include "access/regex_set.h"
#include "base/clock.h"
#include "base/mem.h"

enum { NAMES = 1000000, NETWORKS = 100000, REGEXES = 200, QUESTIONS = 200000, TEXT = 64 };

static char (*texts)[TEXT], (*questions)[TEXT];

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

static void say(const char *what, size_t n, int64_t built_us, size_t bytes)
{
    printf("%zu %s: built in %.3f s, %.1f bytes each\n", n, what, (double)built_us / 1e6, (double)bytes / (double)n);
}

static void say_asked(const char *what, int64_t us, size_t n, size_t hits, size_t expected)
{
    printf("    %s: %.0f ns\n", what, (double)us * 1000 / (double)n);
    if (hits != expected)
        fail("a wrong answer");
}

static void name_of(char out[TEXT], unsigned i)
{
    snprintf(out, TEXT, "host-%x.zone%u.test", i * 2654435761u, i % 1000);
}

static void domains(void)
{
    struct domain_set *s = domain_set_new();
    size_t before = held();
    int64_t start = clock_mono_us();

    for (unsigned i = 0; i < NAMES; i++)
        if (!domain_set_add(s, span_str(texts[i])))
            fail("a name is refused");
    say("dstdomain names", NAMES, clock_mono_us() - start, held() - before);
    for (unsigned other = 0; other <= 1; other++) {
        size_t hits = 0;

        for (unsigned i = 0; i < QUESTIONS; i++)
            name_of(questions[i], other * NAMES + i * 7919u % NAMES);
        start = clock_mono_us();
        for (unsigned i = 0; i < QUESTIONS; i++)
            hits += domain_set_matches(s, span_str(questions[i]));
        say_asked(other ? "a host that isn't listed" : "one that is", clock_mono_us() - start, QUESTIONS, hits,
                  other ? 0 : QUESTIONS);
    }
    domain_set_free(&s);
}

/* Every other /24 from 16.0.0.0 on, in an order that is none. */
static void networks(void)
{
    struct addr_set *s = addr_set_new();
    struct addr *asked = xcalloc(QUESTIONS, sizeof *asked);
    size_t before = held(), hits = 0;
    int64_t start = clock_mono_us();

    for (unsigned i = 0; i < NETWORKS; i++) {
        addr_number first = (16u << 24) + ((uint64_t)i * 7919u % NETWORKS) * 512;

        addr_set_add(s, AF_INET, first, first + 255);
    }
    addr_set_settle(s);
    say("networks", NETWORKS, clock_mono_us() - start, held() - before);
    for (unsigned i = 0; i < QUESTIONS; i++)
        asked[i] = addr_from_number((16u << 24) + ((uint64_t)i * 104729u % (2 * NETWORKS)) * 256 + 7, AF_INET);
    start = clock_mono_us();
    for (unsigned i = 0; i < QUESTIONS; i++)
        hits += addr_set_contains(s, &asked[i]);
    say_asked("an address, every other one listed", clock_mono_us() - start, QUESTIONS, hits, QUESTIONS / 2);
    free(asked);
    addr_set_free(&s);
}

/* Against URLs that none matches: every alternative must be ruled out. combine: as access lists have them. */
static void regexes(bool combine)
{
    struct regex_set *s = regex_set_new();
    char pattern[TEXT], error[128];
    size_t hits = 0, n = combine ? QUESTIONS : QUESTIONS / 20;
    int64_t start = clock_mono_us();

    for (unsigned i = 0; i < REGEXES; i++) {
        snprintf(pattern, sizeof pattern, "(ads|track)%u\\.[a-z]+/banner", i);
        if (!regex_set_add(s, span_str(pattern), true, error))
            fail(error);
    }
    if (combine)
        regex_set_combine(s);
    printf("%d regular expressions, %s: built in %.3f s\n", REGEXES, combine ? "combined" : "one by one",
           (double)(clock_mono_us() - start) / 1e6);
    for (unsigned i = 0; i < QUESTIONS; i++)
        snprintf(questions[i], TEXT, "http://www%u.example.org/path/%u/page.html", i % 100, i);
    start = clock_mono_us();
    for (unsigned i = 0; i < n; i++)
        hits += regex_set_matches(s, span_str(questions[i]));
    say_asked("a URL that none matches", clock_mono_us() - start, n, hits, 0);
    regex_set_free(&s);
}

int main(void)
{
    texts = xcalloc(NAMES, sizeof *texts);
    questions = xcalloc(QUESTIONS, sizeof *questions);
    for (unsigned i = 0; i < NAMES; i++)
        name_of(texts[i], i);
    domains();
    networks();
    regexes(false);
    regexes(true);
    free(texts);
    free(questions);
    return 0;
}
