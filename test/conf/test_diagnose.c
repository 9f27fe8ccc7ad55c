/* The texts operators see, letter by letter: place, words, suggestion. */
#include "harness.h"
#include "conf/diagnose.h"

static const struct {
    const char *text, *want; /* http_port is added behind the text */
} texts[] = {
    { "htp_access allow all", "t:1:1: error: unknown directive 'htp_access' (did you mean 'http_access'?)\n" },
    { "\n  cache_memm 1 MB", "t:2:3: error: unknown directive 'cache_memm' (did you mean 'cache_mem'?)\n" },
    { "qqqqqqqqqqqqqqqq 1", "t:1:1: error: unknown directive 'qqqqqqqqqqqqqqqq'\n" },
    { "cache_mem 64 KiB", "t:1:14: error: unknown unit 'KiB' (did you mean 'KB'?)\n" },
    { "cache_mem 64KiB", "t:1:11: error: unknown unit 'KiB' (did you mean 'KB'?)\n" },
    { "cache_mem 64 pages", "t:1:14: error: unknown unit 'pages'\n" },
    { "cache_mem lots", "t:1:11: error: 'lots' is no size (such as 64 MB)\n" },
    { "cache_mem 67108864", "t:1:11: warning: no unit: '67108864' is taken as bytes\n" },
    { "request_timeout 5 minuts", "t:1:19: error: unknown unit 'minuts' (did you mean 'minutes'?)\n" },
    { "request_timeout soon", "t:1:17: error: 'soon' is no time (such as 30 seconds)\n" },
    { "via of", "t:1:5: error: 'of' is neither on nor off (did you mean 'off'?)\n" },
    { "via", "t:1:4: error: via needs a value\n" },
    { "via on off", "t:1:8: error: 'off' is one word too many for via\n" },
    { "workers 999", "t:1:9: error: '999' is out of range: 0 to 200 are allowed\n" },
    { "forwarded_for trunkate", "t:1:15: error: forwarded_for is on, off, transparent, truncate or delete, not "
                                "'trunkate' (did you mean 'truncate'?)\n" },
    { "memory_replacement_policy heap GSDF",
      "t:1:32: error: unknown replacement policy 'GSDF' (did you mean 'GDSF'?)\n" },
    { "cache_peer a parrent 1 0", "t:1:14: error: unknown cache_peer type 'parrent' (did you mean 'parent'?)\n" },
    { "cache_peer a parent 1 0 defalt",
      "t:1:25: error: unknown cache_peer option or bad value 'defalt' (did you mean 'default'?)\n" },
    { "cache_peer a parent 1 0 \\\n  originservr",
      "t:2:3: error: unknown cache_peer option or bad value 'originservr' (did you mean 'originserver'?)\n" },
    { "cache_peer a parent 1 0\ncache_peer a parent 2 0",
      "t:2:12: error: a cache_peer named 'a' is there already: tell them apart by name=\n" },
    { "http_port 127.0.0.1:99999", "t:1:21: error: '99999' is no port: 1 to 65535 are\n" },
    { "http_port 127.0.0.1",
      "t:1:11: error: '127.0.0.1' has no port: ADDRESS:PORT is wanted, such as 127.0.0.1:3128\n" },
    { "http_port [::1]", "t:1:11: error: '[::1]' has no port: ADDRESS:PORT is wanted, such as [::1]:3128\n" },
    { "http_port proxy.test",
      "t:1:11: error: 'proxy.test' has no port: ADDRESS:PORT is wanted, such as proxy.test:3128\n" },
    { "http_port 312x", "t:1:11: error: '312x' is no port: 1 to 65535 are\n" },
    { "cache_replacement_policy heap foo", "t:1:31: error: unknown replacement policy 'foo'\n" },
    { "cache_replacement_policy heap LFUDA", "" },
    { "on_unsupported_protocol tunnel all",
      "t:1:1: warning: on_unsupported_protocol is not implemented, ignored: connections aren't redirected here nor "
      "tunnels "
      "decrypted, which is what it is about; what isn't HTTP gets an error page, so lead it past the proxy or through "
      "CONNECT\n" },
    { "http_port 8080 acel", "t:1:16: error: unknown http_port option or bad value 'acel' (did you mean 'accel'?)\n" },
    { "http_port 8080 defaultsite=x", "t:1:16: error: http_port option 'defaultsite=x' needs accel as well\n" },
    { "refresh_pattern . 0 20% 4320 ignore-relod",
      "t:1:30: error: unknown refresh_pattern option 'ignore-relod' (did you mean 'ignore-reload'?)\n" },
    { "access_log stdio:/x logformat=comon",
      "t:1:21: error: no logformat 'comon' is defined above (did you mean 'common'?)\n" },
    { "access_log /x squidd", "t:1:15: error: no logformat 'squidd' is defined above (did you mean 'squid'?)\n" },
    { "acl squidd src ::1\naccess_log /x squidd", "" },
    { "access_log syslog:x", "t:1:12: error: access_log module syslog is not supported yet: use stdio:/path\n" },
    { "logformat x %a  %! %b", "t:1:17: error: logformat x: unknown code '%!'\n" },
    { "logformat x %a \\\n   %! %b", "t:2:4: error: logformat x: unknown code '%!'\n" },
    { "icp_port 3130", "t:1:1: error: icp_port is not supported yet: peers would get no answer; write 0\n" },
    { "hierarchy_stoplist x",
      "t:1:1: warning: hierarchy_stoplist is obsolete, ignored: use always_direct or cache_peer_access\n" },
    { "zero_buffers on", "t:1:1: warning: zero_buffers is obsolete, ignored\n" },
    { "digest_bits_per_entry 6",
      "t:1:1: warning: digest_bits_per_entry is not implemented, ignored: peers get no digest of the cache\n" },
    { "cache_mem 256 KB", "t:1:11: error: 256 KB is too little for cache_mem: 1 MB at the least\n" },
    { "client_request_buffer_max_size 5 GB",
      "t:1:32: error: 5120 MB is too much for client_request_buffer_max_size: 1024 MB at the most\n" },
    { "quick_abort_pct 200", "t:1:17: error: '200' is out of range: 0 to 100 percent are allowed\n" },
    { "delay_class 1 2", "t:1:1: error: delay_pools must stand above this line, with the number of pools\n" },
    { "reply_header_access Server allow",
      "t:1:33: error: reply_header_access needs 3 words, here are 2: reply_header_access field|All|Other allow|deny "
      "[!]acl...\n" },
    { "via on off on", "t:1:8: error: 'off' is one word too many for via\n" },
    { "auth_param ntlm program /x", "t:1:12: error: auth_param ntlm is not supported: NTLM is broken; have the same "
                                    "users checked by `auth_param negotiate` "
                                    "(Kerberos) or basic\n" },
    { "auth_param basik program /x",
      "t:1:12: error: auth_param knows basic, digest and negotiate, not 'basik' (did you mean 'Basic'?)\n" },
    { "acl a ssl::server_name .a.test\n", "t:1:7: error: acl type 'ssl::server_name' is not supported yet: of a tunnel "
                                          "only the host it goes to is known: use "
                                          "dstdomain\n" },
    { "acl a dstdomain parameters(\"/x\")", "t:1:17: warning: this names a list file only after "
                                            "`configuration_includes_quoted_values on`; here write the path in "
                                            "quotes, without parameters()\n" },
    { "http_port 3128 intercept", "t:1:16: error: http_port option 'intercept': redirected connections are not "
                                  "supported yet; tell clients of the proxy, "
                                  "by settings or a PAC file\n" },
    { "cache_dir ufs /x 1 1 1",
      "t:1:1: warning: cache_dir is not implemented, ignored: objects stay in memory only and are lost at restart; "
      "the directory isn't touched\n" },
    { "via on\nvia off", "t:2:1: warning: via is said again: this line counts, not t:1\n" },
    { "if maybe\nendif", "t:1:4: error: a condition is true, false, a number, or NUMBER = NUMBER\n" },
    { "endif", "t:1:1: error: endif without if\n" },
    { "else", "t:1:1: error: else without if\n" },
    { "if true", "t:1:1: error: if without endif\n" },
    { "visible_hostname \"a b", "t:1:18: error: this quote is never closed\n" },
    { "include /etc/passwd", "t:1:1: error: other files can't be read from here\n" },
    { "acl x dstdomain \"/etc/passwd\"",
      "t:1:17: error: can't read the list file '/etc/passwd': other files can't be read from here\n" },
    { "a\x1b[2J\tb 1", "t:1:1: error: unknown directive 'a\\x1b[2J'\n" },
};

static void texts_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct said said;
        struct settings *s = read_more(&said, texts[i].text);

        if (strcmp(said_text(&said), texts[i].want) != 0)
            fail_msg("'%s' says\n%swanted\n%s", texts[i].text, said_text(&said), texts[i].want);
        settings_unref(&s);
        sb_free(&said.text);
    }
}

/* What is wrong with ACLs is worded by src/access; where it is, is ours. */
static void acl_problems_have_their_place(void **state)
{
    static const struct {
        const char *text, *place;
    } rows[] = {
        { "acl x src 1.2.3.4 5.6.7.8.9", "t:1:19: error: " },
        { "acl x srcc 1.2.3.4", "t:1:7: error: " },
        { "http_access allow all nosuch", "t:1:23: error: " },
        { "http_access alow all", "t:1:13: error: " },
        { "access_log stdio:/x squid all nosuch", "t:1:31: error: " },
        { "cache_peer a parent 1 0\ncache_peer_access a allow nosuch", "t:2:27: error: " },
        { "acl x src 1.2.3.4 \\\n 5.6.7.8.9", "t:2:2: error: " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct said said;
        struct settings *s = read_more(&said, rows[i].text);

        if (s != NULL || strncmp(said_text(&said), rows[i].place, strlen(rows[i].place)) != 0)
            fail_msg("'%s' says %s", rows[i].text, said_text(&said));
        sb_free(&said.text);
    }
}

static void everything_wrong_is_said_in_one_go(void **state)
{
    struct said said;
    struct settings *s = read_text(&said, "via maybe\nnonsense 1\ncache_mem x\nzero_buffers on\nhttp_access allow x\n");

    (void)state;
    assert_null(s);
    assert_int_equal(said.report.errors, 4);
    assert_int_equal(said.report.warnings, 1);
    sb_free(&said.text);
}

static void no_port_is_an_error_of_the_file(void **state)
{
    struct said said;
    struct settings *s = read_text(&said, "via on\n");

    (void)state;
    assert_null(s);
    assert_string_equal(said_text(&said), "t: error: there is no http_port to listen on\n");
    sb_free(&said.text);
}

static void garbage_stops_at_a_hundred(void **state)
{
    struct strbuf text = { 0 };
    struct said said;
    struct settings *s;

    (void)state;
    for (int i = 0; i < 100000; i++)
        sb_str(&text, "gar bage\n");
    s = read_text(&said, text.p);
    assert_null(s);
    assert_int_equal(said.report.errors, DIAG_ERRORS_MAX);
    assert_non_null(strstr(said_text(&said), "t:100:1: error: too many errors; the rest isn't shown\n"));
    sb_free(&text);
    sb_free(&said.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_exact),
        cmocka_unit_test(acl_problems_have_their_place),
        cmocka_unit_test(everything_wrong_is_said_in_one_go),
        cmocka_unit_test(no_port_is_an_error_of_the_file),
        cmocka_unit_test(garbage_stops_at_a_hundred),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
