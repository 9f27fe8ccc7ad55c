#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "access/htpasswd.h"
#include "access/password_hash.h"
#include "base/clock.h"

/* Made by openssl passwd, htpasswd and crypt(3): others' work, not ours. */
static const struct {
    const char *why, *password, *hash;
} hashes[] = {
    { "apr1", "secret", "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/" },
    { "apr1: longer than a digest", "a longer password than sixteen bytes", "$apr1$xy$ydi4vLfD5LxrQlAISGcwV/" },
    { "apr1: no password at all", "", "$apr1$q$qnoBAcGhblL0pIKbcxCkt0" },
    { "SHA-256 crypt", "secret", "$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM." },
    { "SHA-512 crypt", "secret",
      "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG." },
    { "bcrypt", "secret", "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a" },
    { "yescrypt", "secret", "$y$j9T$abcdefgh$IUWJt2doU4Kf6E/JP1UkAT3S5O3Q7SSA8SJirXIlEu9" },
    { "SHA-1", "secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" },
};

static void passwords_match_their_hashes_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        const char *why;
        char *other = strdup(hashes[i].hash);

        if (!password_hash_is_usable(hashes[i].hash, &why) || !password_matches(hashes[i].password, hashes[i].hash))
            fail_msg("%s", hashes[i].why);
        if (password_matches("Secret", hashes[i].hash) || password_matches("secretx", hashes[i].hash))
            fail_msg("%s: another password matches", hashes[i].why);
        other[strlen(other) - 6] ^= 1; /* still of the alphabet, mostly */
        if (password_matches(hashes[i].password, other))
            fail_msg("%s: another hash matches", hashes[i].why);
        free(other);
    }
}

static void other_forms_are_refused(void **state)
{
    static const char *const bad[] = {
        "secret",
        "",
        "rqXexS6ZhobKA",
        "$apr1$",
        "$apr1$salt",
        "$apr1$salt$short",
        "$apr1$toolongsalt$h9FWgUz3n9YxylKLlR5SQ/",
        "{SHA}",
        "{SHA}5en6G6MezRro",
        "$9$x$y",
        "$",
        "*",
        "!",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *why = NULL;

        if (password_hash_is_usable(bad[i], &why) || why == NULL || password_matches("secret", bad[i]))
            fail_msg("'%s'", bad[i]);
    }
}

#define SHA "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="

static const struct htpasswd_form plain = { 0 }, folded = { .fold_case = true };

struct told {
    unsigned n, last;
};

static void tell(void *ctx, unsigned line, const char *why)
{
    struct told *t = ctx;

    assert_non_null(why);
    t->n++;
    t->last = line;
}

static void lines_become_users(void **state)
{
    static const char text[] = "# users\n\nzoe:" SHA "\r\nAnn:" SHA ":more\nann:$apr1$q$qnoBAcGhblL0pIKbcxCkt0\n"
                               "bob:plain\n:x\nnothing\nlast:" SHA;
    struct told told = { 0 };
    struct htpasswd *t = htpasswd_parse(SPAN(text), &plain, tell, &told);

    (void)state;
    assert_int_equal(htpasswd_count(t), 4);
    assert_int_equal(told.n, 3);
    assert_int_equal(told.last, 8);
    assert_string_equal(htpasswd_hash(t, SPAN("zoe")), SHA);
    assert_string_equal(htpasswd_hash(t, SPAN("Ann")), SHA);
    assert_string_equal(htpasswd_hash(t, SPAN("ann")), "$apr1$q$qnoBAcGhblL0pIKbcxCkt0");
    assert_string_equal(htpasswd_hash(t, SPAN("last")), SHA);
    assert_null(htpasswd_hash(t, SPAN("bob")));
    assert_null(htpasswd_hash(t, SPAN("LAST")));
    htpasswd_unref(&t);
    t = htpasswd_parse(SPAN(text), &folded, NULL, NULL);
    assert_string_equal(htpasswd_hash(t, SPAN("ANN")), SHA); /* the first of two */
    assert_string_equal(htpasswd_hash(t, SPAN("LAST")), SHA);
    htpasswd_unref(&t);
    t = htpasswd_parse(SPAN_NONE, &folded, NULL, NULL);
    assert_null(htpasswd_hash(t, SPAN("x")));
    assert_null(htpasswd_any_hash(t));
    htpasswd_unref(&t);
}

static void htdigest_lines_are_of_one_realm(void **state)
{
#define MD5 "0123456789abcdef0123456789ABCDEF"
    static const char text[] = "ann:here:" MD5 "\nann:there:ffffffffffffffffffffffffffffffff\n"
                               "ann:here:" MD5 MD5 "\nbob:here:short\ncarl:here\ndora:there:" MD5 "\n";
    const struct htpasswd_form form = { .realm = "here" };
    struct told told = { 0 };
    struct htpasswd *t = htpasswd_parse(SPAN(text), &form, tell, &told);

    (void)state;
    assert_int_equal(told.n, 2);
    assert_int_equal(htpasswd_count(t), 2);
    assert_string_equal(htpasswd_ha1(t, SPAN("ann"), 32), MD5);
    assert_string_equal(htpasswd_ha1(t, SPAN("ann"), 64), MD5 MD5);
    assert_null(htpasswd_ha1(t, SPAN("dora"), 32));
    assert_null(htpasswd_ha1(t, SPAN("Ann"), 32));
    htpasswd_unref(&t);
}

static void write_file(const char *path, const char *text)
{
    char next[64];
    FILE *f;

    snprintf(next, sizeof next, "%s.next", path);
    f = fopen(next, "w");
    fputs(text, f);
    fclose(f);
    rename(next, path);
}

static bool has(struct htpasswd_file *f, const char *user, uint64_t *generation)
{
    struct htpasswd *t = htpasswd_file_table(f, generation);
    bool found = htpasswd_hash(t, span_str(user)) != NULL;

    htpasswd_unref(&t);
    return found;
}

static void a_changed_file_is_read_again(void **state)
{
    char path[] = "/tmp/loligo-htpasswd-XXXXXX";
    int fd = mkstemp(path);
    int64_t now = clock_mono_us();
    struct htpasswd_file *f;
    uint64_t first, generation;

    (void)state;
    close(fd);
    write_file(path, "ann:" SHA "\n");
    f = htpasswd_file_open(path, &plain, NULL, NULL);
    first = htpasswd_file_generation(f, now);
    assert_true(has(f, "ann", &generation) && generation == first);
    write_file(path, "bob:" SHA "\n");
    assert_true(htpasswd_file_generation(f, now + US_PER_S / 2) == first); /* once a second */
    generation = htpasswd_file_generation(f, now + 2 * US_PER_S);
    assert_true(generation != first);
    assert_true(htpasswd_file_generation(f, now + 4 * US_PER_S) == generation);
    assert_true(has(f, "bob", &first) && first == generation);
    assert_false(has(f, "ann", &first));
    unlink(path); /* gone: its users stay */
    assert_true(htpasswd_file_generation(f, now + 6 * US_PER_S) != generation);
    assert_true(has(f, "bob", &first));
    htpasswd_file_unref(&f);
    assert_null(htpasswd_file_open(path, &plain, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_match_their_hashes_only),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(lines_become_users),
        cmocka_unit_test(htdigest_lines_are_of_one_realm),
        cmocka_unit_test(a_changed_file_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
