/* squid.conf.default and mgr:config. */
#include "harness.h"
#include "conf/directive.h"

static void the_default_file_loads_without_a_word(void **state)
{
    struct strbuf out = { 0 };
    struct said said;
    struct settings *s;

    (void)state;
    settings_print_default(&out);
    s = read_text(&said, out.p);
    assert_string_equal(said_text(&said), "");
    assert_non_null(s);
    assert_int_equal(s->ports[0].at.port, 3128);
    assert_int_equal(s->n_refresh, 2);
    settings_unref(&s);
    sb_free(&said.text);
    sb_free(&out);
}

/* Each commented default, its # taken away, is a line that loads: what is offered works. */
static void the_commented_defaults_work(void **state)
{
    struct strbuf out = { 0 };
    size_t n = 0;

    (void)state;
    settings_print_default(&out);
    for (char *line = strtok(out.p, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct said said;
        struct settings *s;

        if (strlen(line) > 120)
            fail_msg("too wide: %s", line);
        if (line[0] != '#' || line[1] < 'a' || line[1] > 'z' || strncmp(line, "#http_access allow localnet", 27) == 0)
            continue;
        s = read_more(&said, line + 1);
        if (s == NULL || said.text.len > 0)
            fail_msg("%s: %s", line, said_text(&said));
        settings_unref(&s);
        sb_free(&said.text);
        n++;
    }
    assert_true(n > 50);
    sb_free(&out);
}

static void the_default_file_names_everything(void **state)
{
    struct strbuf out = { 0 };

    (void)state;
    settings_print_default(&out);
    for (size_t i = 0; i < directive_count(); i++)
        if (strstr(out.p, directive_at(i)->name) == NULL)
            fail_msg("%s isn't there", directive_at(i)->name);
    sb_free(&out);
}

static const struct {
    const char *line, *want;
} printed[] = {
    { "cache_mem 256 MB", "\ncache_mem 268435456 bytes\n" },
    { "request_timeout 1 minute", "\nrequest_timeout 60 seconds\n" },
    { "quick_abort_min 1 MB", "\nquick_abort_min 1024 KB\n" },
    { "quick_abort_min -1", "\nquick_abort_min -1 KB\n" },
    { "happy_eyeballs_connect_timeout 100", "\nhappy_eyeballs_connect_timeout 100\n" },
    { "via off", "\nvia off\n" },
    { "forwarded_for truncate", "\nforwarded_for truncate\n" },
    { "memory_replacement_policy heap LRU", "\nmemory_replacement_policy lru\n" },
    { "memory_replacement_policy heap GDSF", "\nmemory_replacement_policy heap GDSF\n" },
    { "memory_replacement_policy heap LFUDA", "\nmemory_replacement_policy heap LFUDA\n" },
    { "debug_options 33,3 ALL,2", "\ndebug_options ALL,2\n" },
    { "http_port [::1]:81 accel defaultsite=a name=x", "\nhttp_port [::1]:81 name=x accel vhost defaultsite=a\n" },
    { "access_log none", "\naccess_log none\n" },
    { "access_log /x common localhost manager", "\naccess_log stdio:/x logformat=common localhost manager" },
    { "refresh_pattern -i x 1 2% 3 refresh-ims", "\nrefresh_pattern -i x 1 2% 3 refresh-ims\n" },
    { "cache_peer a parent 1 0 carp carp-key=host,path max-conn=5 standby=2 connect-fail-limit=3 login=*:x",
      "\ncache_peer a parent 1 0 name=a carp carp-key=host,path max-conn=5 connect-fail-limit=3 standby=2 login=*:XXXXXXXXXX\n" },
    { "cache_peer a parent 1 0 originserver login=PASS", "\ncache_peer a parent 1 0 name=a originserver login=PASS\n" },
    { "dns_nameservers 127.0.0.1 ::1", "\ndns_nameservers 127.0.0.1 ::1\n" },
    { "logformat x  %a  \"%b\"", "\nlogformat x %a  \"%b\"\n" },
    { "http_access deny manager", "\nhttp_access deny manager" },
    { "coredump_dir none", "\ncoredump_dir none\n" },
};

static void values_print_in_squids_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        struct strbuf out = { 0 };
        struct said said;
        struct settings *s = read_more(&said, printed[i].line);

        if (s == NULL)
            fail_msg("%s: %s", printed[i].line, said_text(&said));
        settings_print(s, &out);
        if (strstr(out.p, printed[i].want) == NULL)
            fail_msg("%s isn't in\n%s", printed[i].want + 1, out.p);
        settings_unref(&s);
        sb_free(&said.text);
        sb_free(&out);
    }
}

static void passwords_are_never_shown(void **state)
{
    struct strbuf out = { 0 };
    struct said said;
    struct settings *s = read_more(&said, "cachemgr_passwd geheim1 info\ncachemgr_passwd disable shutdown\n"
                                          "cache_peer a parent 1 0 login=user:geheim2");

    (void)state;
    settings_print(s, &out);
    assert_null(strstr(out.p, "geheim"));
    assert_non_null(strstr(out.p, "cachemgr_passwd XXXXXXXXXX info\n"));
    assert_non_null(strstr(out.p, "cachemgr_passwd disable shutdown\n"));
    assert_non_null(strstr(out.p, "login=XXXXXXXXXX\n"));
    settings_unref(&s);
    sb_free(&said.text);
    sb_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_file_loads_without_a_word),
        cmocka_unit_test(the_commented_defaults_work),
        cmocka_unit_test(the_default_file_names_everything),
        cmocka_unit_test(values_print_in_squids_units),
        cmocka_unit_test(passwords_are_never_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
