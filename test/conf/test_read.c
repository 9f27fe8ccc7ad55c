/* Files, includes, conditions, and what ends up in struct settings. */
#include "harness.h"
#include "base/clock.h"

static struct settings *read_path(struct said *said, const char *path)
{
    said_init(said);
    return settings_read(path, &fake_hooks, &said->report);
}

static void values_land_where_they_belong(void **state)
{
    struct said said;
    struct settings *s = read_text(&said, "http_port 127.0.0.1:8080 name=front accel vport=81 tcpkeepalive=30,5,3\n"
                                          "http_port 3128\n"
                                          "cache_peer [::1] parent 3129 0 name=up weight=3 login=u:p "
                                          "connect-timeout=2\n"
                                          "cache_peer_access up deny all\n"
                                          "cache_mem 64 MB\n"
                                          "request_timeout 10 seconds\n"
                                          "happy_eyeballs_connect_timeout 100\n"
                                          "quick_abort_min -1 KB\n"
                                          "memory_replacement_policy lru\n"
                                          "forwarded_for delete\n"
                                          "half_closed_clients off\n"
                                          "visible_hostname proxy.example\n"
                                          "dns_nameservers 127.0.0.53\n"
                                          "logformat own %ts\n"
                                          "access_log stdio:/x own\n"
                                          "access_log /y localhost\n"
                                          "cachemgr_passwd secret info objects\n"
                                          "refresh_pattern -i \\.png$ 10 50% 100 ignore-reload max-stale=5\n"
                                          "refresh_pattern . 1 20% 2\n");

    (void)state;
    assert_string_equal(said_text(&said), "");
    assert_non_null(s);
    assert_int_equal(s->n_ports, 2);
    assert_string_equal(s->ports[0].name, "front");
    assert_true(s->ports[0].accel && s->ports[0].vhost && s->ports[0].tcp_keepalive);
    assert_int_equal(s->ports[0].vport, 81);
    assert_int_equal(s->ports[0].keepalive_timeout, 3);
    assert_int_equal(s->ports[0].at.port, 8080);
    assert_int_equal(s->ports[1].at.family, AF_INET6);
    assert_true(addr_is_any(&s->ports[1].at));
    assert_string_equal(s->ports[1].name, "3128");
    assert_false(s->ports[1].accel || s->ports[1].vhost);
    assert_string_equal(s->peers[0].host, "::1");
    assert_string_equal(s->peers[0].name, "up");
    assert_int_equal(s->peers[0].weight, 3);
    assert_int_equal(s->peers[0].connect_timeout, 2 * US_PER_S);
    assert_non_null(s->peers[0].access);
    assert_int_equal(s->cache_mem, 64 << 20);
    assert_int_equal(s->request_timeout, 10 * US_PER_S);
    assert_int_equal(s->happy_eyeballs_connect_timeout, 100000);
    assert_int_equal(s->quick_abort_min, -1);
    assert_int_equal(s->eviction, EVICT_LRU);
    assert_int_equal(s->forwarded_for, FORWARDED_FOR_DELETE);
    assert_int_equal(s->half_closed_clients, TRI_OFF);
    assert_string_equal(s->visible_hostname, "proxy.example");
    assert_int_equal(s->nameservers[0].port, 53);
    assert_int_equal(s->n_logs, 2);
    assert_string_equal(s->logs[0].format, "%ts");
    assert_string_equal(s->logs[1].format, "built-in squid");
    assert_null(s->logs[0].acl);
    assert_non_null(s->logs[1].acl);
    assert_int_equal(s->cachemgr[0].n_actions, 2);
    assert_int_equal(settings_refresh_rule(s, SPAN("http://a/x.PNG"))->min, 600);
    assert_int_equal(settings_refresh_rule(s, SPAN("http://a/x.PNG"))->max_stale, 300);
    assert_true(settings_refresh_rule(s, SPAN("http://a/x.PNG"))->ignore_reload);
    assert_int_equal(settings_refresh_rule(s, SPAN("http://a/x.html"))->max, 120);
    settings_unref(&s);
    sb_free(&said.text);
}

static void defaults_are_loligos(void **state)
{
    struct said said;
    struct settings *s = read_text(&said, "http_port 127.0.0.1:3128\n");
    const struct access_facts nobody = { .method = METHOD_GET };

    (void)state;
    assert_non_null(s);
    assert_int_equal(s->workers, 0);
    assert_int_equal(s->cache_mem, 256 << 20);
    assert_int_equal(s->maximum_object_size_in_memory, 8 << 20);
    assert_int_equal(s->eviction, EVICT_S3FIFO);
    assert_false(s->relaxed_header_parser);
    assert_true(s->collapsed_forwarding && s->via && s->strip_query_terms);
    assert_int_equal(s->request_timeout, 60 * US_PER_S);
    assert_int_equal(s->minimum_expiry_time, 0);
    assert_int_equal(s->header_fields_max, 256);
    assert_int_equal(s->vary_variants_max, 64);
    assert_int_equal(s->chunk_extension_max, 16384);
    assert_int_equal(s->half_closed_clients, TRI_UNSET);
    assert_non_null(s->visible_hostname);
    assert_int_equal(s->n_logs, 1);
    assert_int_equal(access_check(s->http_access, &nobody).answer, ACCESS_DENIED);
    assert_int_equal(access_check(s->never_direct, &nobody).answer, ACCESS_DENIED);
    assert_int_equal(access_check(s->http_reply_access, &nobody).answer, ACCESS_ALLOWED);
    assert_int_equal(access_check(s->cache, &nobody).answer, ACCESS_ALLOWED);
    assert_int_equal(settings_refresh_rule(s, SPAN("http://a/"))->max, 4320 * 60);
    settings_unref(&s);
    sb_free(&said.text);
}

static void a_reference_keeps_settings(void **state)
{
    struct said said;
    struct settings *s = read_text(&said, "http_port 127.0.0.1:3128\n"), *other = settings_ref(s);

    (void)state;
    settings_unref(&s);
    assert_null(s);
    assert_int_equal(other->n_ports, 1);
    settings_unref(&other);
    settings_unref(&other);
    sb_free(&said.text);
}

static void includes_are_sorted_and_say_their_file(void **state)
{
    struct scratch d;
    struct said said;
    struct settings *s;
    char *text, *main_file, *b, *a;

    (void)state;
    scratch_init(&d);
    b = scratch_file(&d, "20.inc", "cache_peer b parent 2 0\r\nnosuch 1\r\n");
    a = scratch_file(&d, "10.inc", "cache_peer a parent 1 0\r\nvia off # c\r\n");
    text = xasprintf("include %s/*.inc\nhttp_port 127.0.0.1:3128\n", d.path);
    main_file = scratch_file(&d, "main.conf", text);
    s = read_path(&said, main_file);
    free(text);
    text = xasprintf("%s:2:1: error: unknown directive 'nosuch'\n", b);
    assert_null(s);
    assert_string_equal(said_text(&said), text);
    sb_free(&said.text);

    free(b);
    b = scratch_file(&d, "20.inc", "cache_peer b parent 2 0\r\n");
    s = read_path(&said, main_file);
    assert_non_null(s);
    assert_string_equal(s->peers[0].name, "a");
    assert_string_equal(s->peers[1].name, "b");
    assert_false(s->via);
    settings_unref(&s);
    sb_free(&said.text);
    free(text);
    free(main_file);
    free(a);
    free(b);
    scratch_free(&d);
}

static void a_glob_may_match_nothing_but_a_name_must_exist(void **state)
{
    struct scratch d;
    struct said said;
    struct settings *s;
    char *path;

    (void)state;
    scratch_init(&d);
    path = scratch_file(&d, "a.conf", "include /nonexistent/*.conf\nhttp_port 127.0.0.1:3128\n");
    s = read_path(&said, path);
    assert_non_null(s);
    assert_int_equal(said.report.warnings, 1);
    assert_non_null(strstr(said_text(&said), ":1:9: warning: nothing matches '/nonexistent/*.conf'\n"));
    settings_unref(&s);
    sb_free(&said.text);
    free(path);
    path = scratch_file(&d, "b.conf", "include /nonexistent/x.conf\nhttp_port 127.0.0.1:3128\n");
    assert_null(read_path(&said, path));
    assert_non_null(strstr(said_text(&said), ":1:9: error: can't include '/nonexistent/x.conf': No such file"));
    sb_free(&said.text);
    free(path);
    path = xasprintf("%s/none.conf", d.path);
    assert_null(read_path(&said, path));
    assert_non_null(strstr(said_text(&said), "/none.conf: error: can't read it: No such file"));
    sb_free(&said.text);
    free(path);
    assert_null(read_path(&said, d.path));
    assert_non_null(strstr(said_text(&said), "error: can't read it: Is a directory"));
    sb_free(&said.text);
    scratch_free(&d);
}

static void a_file_that_includes_itself_ends(void **state)
{
    struct scratch d;
    struct said said;
    char *path, *text;

    (void)state;
    scratch_init(&d);
    text = xasprintf("include %s/self.conf\n", d.path);
    path = scratch_file(&d, "self.conf", text);
    assert_null(read_path(&said, path));
    assert_int_equal(said.report.errors, 1);
    assert_non_null(strstr(said_text(&said), ":1:1: error: include is nested more than 16 deep\n"));
    sb_free(&said.text);
    free(text);
    free(path);
    scratch_free(&d);
}

/* A chain of files, each including the next: `includes` of them. True when it loads. */
static bool chain_loads(const struct scratch *d, int includes)
{
    struct said said;
    struct settings *s;
    char *first = xasprintf("%s/0", d->path);
    bool loads;

    for (int i = 0; i <= includes; i++) {
        char *name = xasprintf("%d", i);
        char *text = i < includes ? xasprintf("include %s/%d\n", d->path, i + 1) : xstrdup("http_port 3128\n");

        free(scratch_file(d, name, text));
        free(text);
        free(name);
    }
    s = read_path(&said, first);
    loads = s != NULL;
    settings_unref(&s);
    sb_free(&said.text);
    free(first);
    return loads;
}

static void includes_nest_sixteen_deep(void **state)
{
    struct scratch d;

    (void)state;
    scratch_init(&d);
    assert_true(chain_loads(&d, 16));
    assert_false(chain_loads(&d, 17));
    scratch_free(&d);
}

/* Is this host denied by `http_access deny bad`? */
static bool denied(const struct settings *s, struct span host)
{
    const struct access_facts f = { .method = METHOD_GET, .host = host };

    return access_check(s->http_access, &f).answer == ACCESS_DENIED;
}

static void list_files_give_values(void **state)
{
    struct scratch d;
    struct said said;
    struct settings *s;
    char *list, *path, *text;

    (void)state;
    scratch_init(&d);
    list = scratch_file(&d, "bad list", "# bad ones\r\n\r\na.example\r\n .b.example # all of it\r\nc.example");
    text = xasprintf("acl bad dstdomain \"%s\" d.example\n"
                     "http_access deny bad\nhttp_access allow all\nhttp_port 3128\n", list);
    path = scratch_file(&d, "a.conf", text);
    s = read_path(&said, path);
    assert_string_equal(said_text(&said), "");
    assert_true(denied(s, SPAN("a.example")));
    assert_true(denied(s, SPAN("x.b.example")));
    assert_true(denied(s, SPAN("c.example")));
    assert_true(denied(s, SPAN("d.example")));
    assert_false(denied(s, SPAN("x.a.example")));
    settings_unref(&s);
    sb_free(&said.text);
    free(text);
    free(path);

    text = xasprintf("configuration_includes_quoted_values on\nacl bad dstdomain parameters(\"%s\") \"d.example\"\n"
                     "http_access deny bad\nhttp_access allow all\nhttp_port 3128\n", "/nonexistent");
    path = scratch_file(&d, "b.conf", text);
    assert_null(read_path(&said, path));
    assert_non_null(strstr(said_text(&said), ":2:19: error: can't read the list file '/nonexistent': No such file"));
    sb_free(&said.text);
    free(text);
    free(path);

    free(list);
    list = scratch_file(&d, "ports", "80\n443\neighty\n");
    text = xasprintf("acl p port \"%s\"\nhttp_port 3128\n", list);
    path = scratch_file(&d, "c.conf", text);
    free(text);
    text = xasprintf("%s:3:1: error: ", list);
    assert_null(read_path(&said, path));
    assert_memory_equal(said_text(&said), text, strlen(text));
    sb_free(&said.text);
    free(text);
    free(path);
    free(list);
    scratch_free(&d);
}

static void quoted_values_quote_when_told(void **state)
{
    struct said said;
    struct settings *s = read_more(&said, "configuration_includes_quoted_values on\nacl bad dstdomain \"d.example\"\n"
                                          "http_access deny bad\nhttp_access allow all\nlogformat q \"%a %b\"\n"
                                          "access_log stdio:/x q");

    (void)state;
    assert_string_equal(said_text(&said), "");
    assert_true(denied(s, SPAN("d.example")));
    assert_string_equal(s->logs[0].format, "%a %b");
    settings_unref(&s);
    sb_free(&said.text);
}

static const struct {
    const char *text;
    bool via;
} conditions[] = {
    { "if true\nvia off\nendif", false },
    { "if false\nvia off\nendif", true },
    { "if false\nnonsense\nelse\nvia off\nendif", false },
    { "if true\nvia off\nelse\nnonsense\nendif", false },
    { "if ${process_number} = 1\nvia off\nendif", false },
    { "if ${process_number} = 2\nvia off\nendif", true },
    { "if 0\nvia off\nendif", true },
    { "if false\nif true\nvia off\nelse\nvia off\nendif\nendif", true },
    { "if true\nif false\nvia off\nendif\nendif", true },
    { "if true\nif false\nelse\nvia off\nendif\nendif", false },
    { "if false\nif nonsense\nendif\nendif", true },
};

static void conditions_choose(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        struct said said;
        struct settings *s = read_more(&said, conditions[i].text);

        if (s == NULL || said.text.len > 0 || s->via != conditions[i].via)
            fail_msg("%s: %s", conditions[i].text, said_text(&said));
        settings_unref(&s);
        sb_free(&said.text);
    }
}

/* Debian's packaged file as it is, where the package is there. */
static void debians_file_loads(void **state)
{
    static const char file[] = "/etc/squid/squid.conf";
    struct said said;
    struct settings *s;

    (void)state;
    if (access(file, R_OK) != 0)
        skip();
    s = read_path(&said, file);
    assert_string_equal(said_text(&said), "");
    assert_non_null(s);
    assert_int_equal(s->n_ports, 1);
    assert_int_equal(s->ports[0].at.port, 3128);
    assert_int_equal(s->n_refresh, 4);
    assert_int_equal(s->logfile_rotate, 0);
    settings_unref(&s);
    sb_free(&said.text);
}

static void the_embedded_text_loads(void **state)
{
    struct said said;
    struct settings *s;

    (void)state;
    said_init(&said);
    s = settings_read_text("embedded", settings_embedded(), &fake_hooks, &said.report);
    assert_string_equal(said_text(&said), "");
    assert_string_equal(s->logs[0].place, "/dev/stdout");
    assert_string_equal(s->pid_filename, "none");
    settings_unref(&s);
    sb_free(&said.text);
}

static void hooks_may_be_missing(void **state)
{
    struct conf_report r = { 0 };
    struct settings *s = settings_read_text("embedded", settings_embedded(), NULL, &r);

    (void)state;
    assert_non_null(s);
    assert_null(s->logs[0].format);
    settings_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_land_where_they_belong),
        cmocka_unit_test(defaults_are_loligos),
        cmocka_unit_test(a_reference_keeps_settings),
        cmocka_unit_test(includes_are_sorted_and_say_their_file),
        cmocka_unit_test(a_glob_may_match_nothing_but_a_name_must_exist),
        cmocka_unit_test(a_file_that_includes_itself_ends),
        cmocka_unit_test(includes_nest_sixteen_deep),
        cmocka_unit_test(list_files_give_values),
        cmocka_unit_test(quoted_values_quote_when_told),
        cmocka_unit_test(conditions_choose),
        cmocka_unit_test(debians_file_loads),
        cmocka_unit_test(the_embedded_text_loads),
        cmocka_unit_test(hooks_may_be_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
