/* The directives that work: one row each, in mgr:config's order. Defaults are text and go through the same parser as
 * the file, so a bad one can't hide. The others, that are known but do nothing, are in ignored.c. */
#include "conf/directive.h"

#define AT(member) offsetof(struct settings, member)
#define KB INT64_C(1024)
#define MB (KB * KB)

const struct directive directives_working[] = {
    /* process */
    { "workers", &kind_count, AT(workers), "0",
      .meaning = "How many threads serve connections. 0: one for each processor that is online.", .high = 200 },
    { "cpu_affinity_map", &kind_affinity, AT(affinities), NULL,
      .meaning =
          "cpu_affinity_map process_numbers=1,2,... cores=1,2,...\n"
          "The first worker runs on the first core only, and so on; both count from 1. Other workers, helper programs "
          "and\nthreads that check passwords run anywhere.",
      .flags = REPEATS },
    /* who may */
    { "auth_param", &kind_auth_param, 0, NULL,
      .meaning =
          "auth_param basic|digest|negotiate option value...\n"
          "How users are asked who they are, for ACLs of type proxy_auth. Each scheme that has a file or a program is\n"
          "offered, in the order of their first lines.\n"
          "  program PATH [arguments]: a helper program that judges (Squid's protocol).\n"
          "  children N [startup=N] [idle=N] [concurrency=N] [queue-size=N]: how many of them (5), and how many "
          "questions\n"
          "    may wait (twice as many); beyond them 503. With `basic file`: threads that compute hashes (2).\n"
          "  key_extras FORMAT: logformat codes put behind each question; answers are remembered for each text of it.\n"
          "  realm TEXT (basic, digest): what the browser says it is asked for.\n"
          "basic:\n"
          "  file PATH: an htpasswd file: bcrypt, yescrypt, SHA-256 and SHA-512 crypt, $apr1$ or {SHA} hashes. It is\n"
          "    read again when it changes. `program /.../basic_ncsa_auth PATH` means the same.\n"
          "  credentialsttl TIME: how long a password that was right isn't looked at again (2 hours).\n"
          "  casesensitive on|off: letter case counts in names of users (off).\n"
          "  utf8 on|off: names and passwords are UTF-8 (off).\n"
          "digest:\n"
          "  file PATH: an htdigest file. `program /.../digest_file_auth -c PATH` means the same.\n"
          "  algorithm MD5|SHA-256...: what is offered, the better one first (MD5); hashes fit one of them.\n"
          "  nonce_max_duration TIME, nonce_max_count N: how long and how often one challenge serves (30 minutes, "
          "50).\n"
          "  nonce_garbage_interval TIME: how often old ones are forgotten (5 minutes).\n"
          "  check_nonce_count on|off: a request that is said twice is asked again (on).\n"
          "  nonce_strictness on|off: counts must go up by 1 (off).\n"
          "  post_workaround on|off: takes for a POST what was computed for a GET (off).\n"
          "negotiate:\n"
          "  keep_alive on|off: a connection goes on after it was asked for a token (on).",
      .flags = REPEATS },
    { "auth_schemes", &kind_auth_schemes, 0, NULL,
      .meaning = "auth_schemes scheme,...|ALL [[!]acl...]\n"
                 "Which of the schemes that auth_param sets up are offered, and in which order. The first line whose "
                 "ACLs hold "
                 "counts;\n"
                 "without one all are offered.",
      .flags = REPEATS },
    { "authenticate_cache_garbage_interval", &kind_duration, AT(auth.garbage_interval), "1 hour",
      .meaning = "How often logins that weren't used for authenticate_ttl are forgotten." },
    { "authenticate_ttl", &kind_duration, AT(auth.ttl), "1 hour",
      .meaning = "How long a login is remembered after its last request." },
    { "authenticate_ip_ttl", &kind_duration, AT(auth.ip_ttl), "1 second",
      .meaning = "How long an address counts among those a user asks from (acl type max_user_ip)." },
    { "authenticate_cache_max", &kind_count, AT(auth.cache_max), "10000",
      .meaning = "How many logins each worker remembers; beyond them the longest unused is forgotten.", .low = 1,
      .high = 10000000 },
    { "external_acl_type", &kind_external, AT(externals), NULL,
      .meaning = "external_acl_type name [ttl=s] [negative_ttl=s] [grace=percent] [cache=n] [children-max=n]\n"
                 "                  [children-startup=n] [children-idle=n] [concurrency=n] [queue-size=n] %code... "
                 "/path [arguments]\n"
                 "A program that decides `acl x external name [argument...]`: it is told the codes (%SRC, %LOGIN, "
                 "%URI, %DST,\n"
                 "%PATH, %METHOD, %PORT, %PROTO, %MYADDR, %MYPORT, %{Field}, %ACL, %DATA for the arguments, and "
                 "logformat's) and\n"
                 "answers OK or ERR, with pairs that become annotations: user=, tag=, log=, message= and others. ttl: "
                 "3600; 0 asks\n"
                 "each time.",
      .flags = REPEATS },
    { "acl", &kind_acl, 0, NULL,
      .meaning =
          "acl NAME TYPE [flags] values...   or   acl NAME TYPE \"/path/of/a/list\"\n"
          "Names a condition for the access lists below. More lines of one name add values. all, localhost, manager,\n"
          "to_localhost, to_linklocal and CONNECT exist from the start. The types, and when they are true:\n"
#define ACL_TYPE(name, kind, matcher, field, values, meaning) "  " name " " values ": " meaning "\n"
#include "access/acl_type.def"
#undef ACL_TYPE
          "Flags: -i and +i (patterns: in any letter case or not), -n (no look-ups), -- (no flags behind it).\n"
          "An address is looked up for srcdomain, and for dstdomain without -n where it is the host: see "
          "doc/names.md.\n"
          "A list file has one value a line; it must exist.",
      .flags = REPEATS },
    { "http_access", &kind_access, AT(http_access), NULL,
      .meaning = "http_access allow|deny [!]acl...\n"
                 "Which requests are served. Lines are tried in order and the first whose ACLs all hold decides; when "
                 "none does,\n"
                 "the opposite of the last line. Without any line everything is denied.",
      .flags = REPEATS },
    { "adapted_http_access", &kind_access, AT(adapted_http_access), NULL,
      .meaning =
          "adapted_http_access allow|deny [!]acl...\n"
          "The same asked once more when url_rewrite_program is through with a request: about what it has become. "
          "Without any\n"
          "line all are served.",
      .flags = REPEATS | ALLOWS, .aliases = "http_access2" },
    { "http_reply_access", &kind_access, AT(http_reply_access), NULL,
      .meaning = "http_reply_access allow|deny [!]acl...\n"
                 "Which responses are passed on. Without any line all are.",
      .flags = REPEATS | ALLOWS },
    { "miss_access", &kind_access, AT(miss_access), NULL,
      .meaning = "miss_access allow|deny [!]acl...\n"
                 "Which requests may be sent on when the cache can't answer them: misses, what must be validated, and "
                 "tunnels. Others\n"
                 "get hits only. Without any line all may.",
      .flags = REPEATS | ALLOWS },
    { "proxy_protocol_access", &kind_access, AT(proxy_protocol_access), NULL,
      .meaning = "proxy_protocol_access allow|deny [!]acl...\n"
                 "Who may connect to an http_port with require-proxy-header, by the connection's own address. Without "
                 "any line nobody.",
      .flags = REPEATS },
    { "follow_x_forwarded_for", &kind_access, AT(follow_x_forwarded_for), NULL,
      .meaning =
          "follow_x_forwarded_for allow|deny [!]acl...\n"
          "Which proxies in front of this one are believed when they say in X-Forwarded-For for whom they ask. The "
          "field\n"
          "is read from its end, for as long as src matches an address that is believed. Without any line nobody is.",
      .flags = REPEATS },
    { "acl_uses_indirect_client", &kind_switch, AT(acl_uses_indirect_client), "on",
      .meaning = "With follow_x_forwarded_for: access lists see the client it finds." },
    { "log_uses_indirect_client", &kind_switch, AT(log_uses_indirect_client), "on",
      .meaning = "With follow_x_forwarded_for: logs show the client it finds." },
    /* bandwidth */
    { "delay_pools", &kind_delay_pools, AT(delays), NULL,
      .meaning = "How many pools there are that limit what is fetched from servers, tunnels included; hits aren't "
                 "limited. This line\n"
                 "comes before those of the pools." },
    { "delay_class", &kind_delay_class, AT(delays), NULL,
      .meaning = "delay_class pool 1|2|3|4|5\n"
                 "What a pool has buckets for: 1: all together; 2: and each client; 3: and its network (/24, IPv6 "
                 "/64); 4: and each\n"
                 "user; 5: each tag of an external ACL, alone.",
      .flags = REPEATS },
    { "delay_parameters", &kind_delay_parameters, AT(delays), NULL,
      .meaning = "delay_parameters pool rate [network-rate] [client-rate] [user-rate]\n"
                 "What its buckets hold: bytes a second/bytes at the most, or none. Class 2: all, client; class 3: "
                 "all, network,\n"
                 "client; class 4: and user; class 5: tag.",
      .flags = REPEATS },
    { "delay_access", &kind_delay_access, AT(delays), NULL,
      .meaning = "delay_access pool allow|deny [!]acl...\n"
                 "Which requests a pool limits: the first that says allow. Without any line none.",
      .flags = REPEATS },
    { "delay_initial_bucket_level", &kind_percent, AT(delay_initial), "50",
      .meaning = "How full a new bucket of delay_pools is, in percent.", .high = 100 },
    { "delay_pool_uses_indirect_client", &kind_switch, AT(delay_pool_uses_indirect_client), "on",
      .meaning = "With follow_x_forwarded_for: pools see the client it finds." },
    { "delay_buckets_max", &kind_count, AT(delay_buckets_max), "65536",
      .meaning = "How many clients, networks and users a pool remembers; the longest unused ones are forgotten.",
      .low = 16, .high = 10000000 },
    { "client_delay_pools", &kind_delay_pools, AT(client_delays), NULL,
      .meaning = "How many pools there are that limit what clients are sent, hits included." },
    { "client_delay_parameters", &kind_client_delay_parameters, AT(client_delays), NULL,
      .meaning = "client_delay_parameters pool bytes-a-second bytes-at-the-most\n"
                 "For each client of a pool.",
      .flags = REPEATS },
    { "client_delay_access", &kind_delay_access, AT(client_delays), NULL,
      .meaning = "client_delay_access pool allow|deny [!]acl...\n"
                 "Which requests a pool limits: the first that says allow. Without any line none.",
      .flags = REPEATS },
    { "client_delay_initial_bucket_level", &kind_percent, AT(client_delay_initial), "50",
      .meaning = "How full a new bucket of client_delay_pools is, in percent.", .high = 100 },
    { "response_delay_pool", &kind_response_delay, AT(response_delays), NULL,
      .meaning = "response_delay_pool name [individual-restore=n] [individual-maximum=n] [aggregate-restore=n]\n"
                 "                    [aggregate-maximum=n] [initial-bucket-level=percent]\n"
                 "Limits what clients are sent: each response by itself, and all together. Bytes a second, bytes.",
      .flags = REPEATS },
    { "response_delay_pool_access", &kind_response_delay_access, AT(response_delays), NULL,
      .meaning = "response_delay_pool_access name allow|deny [!]acl...\n"
                 "Which responses a pool limits: the first that says allow. Without any line none.",
      .flags = REPEATS },
    /* helper programs */
    { "helper_timeout", &kind_duration, AT(helper_timeout), "30 seconds",
      .meaning = "How long a question to a helper program may wait for its answer, in all. A program that is later is "
                 "replaced.",
      .low = 1 },
    { "url_rewrite_program", &kind_program, AT(url_rewrite.program), NULL,
      .meaning = "url_rewrite_program /path [arguments]\n"
                 "A program that is told each URL and may answer another one, or a redirection: OK rewrite-url=URL, OK "
                 "status=302\n"
                 "url=URL, ERR (as it is), BH (it failed). What it answers is judged as a client's URL is; nothing "
                 "passes when it\n"
                 "fails, but by url_rewrite_bypass.",
      .aliases = "redirect_program" },
    { "url_rewrite_children", &kind_children, AT(url_rewrite.program), "20 startup=0 idle=1 concurrency=0",
      .meaning =
          "url_rewrite_children number [startup=n] [idle=n] [concurrency=n] [queue-size=n]\n"
          "How many of it run at the most, at once, and beyond the busy ones; how many questions each has at a time\n"
          "(0: one, without channel numbers); and how many wait (twice the number).",
      .aliases = "redirect_children" },
    { "url_rewrite_access", &kind_access, AT(url_rewrite.access), NULL,
      .meaning = "url_rewrite_access allow|deny [!]acl...\n"
                 "Which requests it is asked about. Without any line all.",
      .flags = REPEATS | ALLOWS, .aliases = "redirector_access" },
    { "url_rewrite_host_header", &kind_switch, AT(url_rewrite_host_header), "on",
      .meaning = "Host goes on as the new URL has it; off: as the client sent it.",
      .aliases = "redirect_rewrites_host_header" },
    { "url_rewrite_bypass", &kind_switch, AT(url_rewrite.bypass), "off",
      .meaning = "When it fails or is overloaded, requests go on as they are; off: they get an error page.",
      .aliases = "redirector_bypass" },
    { "url_rewrite_extras", &kind_string, AT(url_rewrite.extras), "\"%>a/%>A %un %>rm myip=%la myport=%lp\"",
      .meaning = "What follows the URL in its questions; the codes are logformat's." },
    { "url_rewrite_timeout", &kind_rewrite_timeout, AT(url_rewrite_timeout), NULL,
      .meaning =
          "url_rewrite_timeout time unit [on_timeout=fail|bypass|retry|use_configured_response] [response=text]\n"
          "How long it may take, instead of helper_timeout, and what then: an error page, on as it is, asked once "
          "more, or\n"
          "the text taken for its answer.",
      .flags = RAW },
    { "store_id_program", &kind_program, AT(store_id.program), NULL,
      .meaning =
          "store_id_program /path [arguments]\n"
          "A program that is told the URL of each GET and HEAD and may answer what it is stored under: OK store-id=ID.",
      .aliases = "storeurl_rewrite_program" },
    { "store_id_children", &kind_children, AT(store_id.program), "20 startup=0 idle=1 concurrency=0",
      .meaning = "As url_rewrite_children.", .aliases = "storeurl_rewrite_children" },
    { "store_id_access", &kind_access, AT(store_id.access), NULL,
      .meaning = "store_id_access allow|deny [!]acl...\n"
                 "Which requests it is asked about. Without any line all.",
      .flags = REPEATS | ALLOWS, .aliases = "storeurl_rewrite_access" },
    { "store_id_bypass", &kind_switch, AT(store_id.bypass), "on",
      .meaning = "When it fails or is overloaded, the URL itself is the key; off: requests get an error page." },
    { "store_id_extras", &kind_string, AT(store_id.extras), "\"%>a/%>A %un %>rm myip=%la myport=%lp\"",
      .meaning = "As url_rewrite_extras." },
    /* listening */
    { "http_port", &kind_port, AT(ports), NULL,
      .meaning = "http_port [address:]port [accel] [defaultsite=host[:port]] [no-vhost] [vport[=n]] [allow-direct] "
                 "[ignore-cc]\n"
                 "          [name=word] [tcpkeepalive[=idle,interval,timeout]] [require-proxy-header]\n"
                 "Where clients connect; without an address on every one. accel makes it a reverse proxy: the site is "
                 "taken from\n"
                 "Host, or is defaultsite. require-proxy-header: connections begin with a PROXY header (version 1 or "
                 "2) of a load\n"
                 "balancer; see proxy_protocol_access. Several lines make several ports.",
      .flags = REPEATS },
    /* peers */
    { "cache_peer", &kind_peer, AT(peers), NULL,
      .meaning = "cache_peer host parent http-port 0 [name=word] [originserver] [default] [weight=n] [proxy-only]\n"
                 "           [round-robin|carp|userhash|sourcehash] [carp-key=scheme,host,port,path,params]\n"
                 "           [login=user:password|*:password|PASS|PASSTHRU] [max-conn=n] [standby=n]\n"
                 "           [connect-timeout=seconds] [connect-fail-limit=n] [no-query] [no-digest]\n"
                 "A proxy, or with originserver a web server, that requests may be forwarded to. There is no ICP. "
                 "userhash, carp and\n"
                 "sourcehash choose by the user, the URL, the client's address, round-robin by turns, weight= how "
                 "often; others are\n"
                 "tried in order, default ones last. max-conn: connections to it, those kept open included; standby: "
                 "how many are kept\n"
                 "ready. With max-conn each worker keeps no more than its share open. connect-fail-limit (10) failures "
                 "in a row\nmake it dead until a connection can be made again.\n"
                 "weighted-round-robin is round-robin: its turns go by weight= alone, not by how far a peer is.",
      .flags = REPEATS },
    { "cache_peer_access", &kind_peer_access, AT(peers), NULL,
      .meaning = "cache_peer_access peer allow|deny [!]acl...\n"
                 "Which requests a peer may get. Without any line all.",
      .flags = REPEATS },
    { "forward_max_tries", &kind_count, AT(forward_max_tries), "25",
      .meaning = "How many tries one request gets: addresses and peers, and connections that had rested and were gone.",
      .low = 1, .high = 1000 },
    { "connect_retries", &kind_count, AT(connect_retries), "0",
      .meaning =
          "How many more tries an address gets that a connection couldn't be made to, within connect_timeout. They "
          "don't count\n"
          "for forward_max_tries.",
      .high = 10 },
    { "retry_on_error", &kind_switch, AT(retry_on_error), "off",
      .meaning =
          "Another address or peer is asked after a response of status 403, 500, 501 or 503, where the request may be "
          "repeated\n"
          "and forward_max_tries and forward_timeout let it. After 502 and 504 (a gateway failed) that happens "
          "anyway." },
    { "dead_peer_timeout", &kind_duration, AT(dead_peer_timeout), "10 seconds",
      .meaning = "How long a dead peer is left alone before a connection to it is tried again.", .low = 1 },
    { "prefer_direct", &kind_switch, AT(prefer_direct), "off",
      .meaning = "Where a request may go to peers or directly: directly first." },
    { "nonhierarchical_direct", &kind_switch, AT(nonhierarchical_direct), "on",
      .meaning = "Requests no cache has an answer for (CONNECT, POST ...) go directly where they may; off: to peers." },
    { "never_direct", &kind_access, AT(never_direct), NULL,
      .meaning = "never_direct allow|deny [!]acl...\n"
                 "Requests that may go to peers only, never to the origin itself.",
      .flags = REPEATS },
    { "always_direct", &kind_access, AT(always_direct), NULL,
      .meaning = "always_direct allow|deny [!]acl...\n"
                 "Requests that go to the origin itself, never to a peer.",
      .flags = REPEATS },
    { "tcp_outgoing_address", &kind_outgoing, AT(outgoing), NULL,
      .meaning =
          "tcp_outgoing_address address [[!]acl...]\n"
          "Which of this machine's addresses connections to origins and peers come from: the first line of the\n"
          "destination's family (IPv4 or IPv6) whose ACLs all hold; `dst` is what is connected to. Without one: as\n"
          "routing says. A connection that is kept serves only requests that would come from its address.",
      .flags = REPEATS },
    /* memory and cache */
    { "cache_mem", &kind_size, AT(cache_mem), "256 MB",
      .meaning = "Memory for stored responses: the whole cache, and a bound that holds. Changes need a restart.",
      .low = MB },
    { "maximum_object_size_in_memory", &kind_size, AT(maximum_object_size_in_memory), "8 MB",
      .meaning = "Larger responses aren't stored. As there is no disk cache, the larger of this and "
                 "maximum_object_size counts." },
    { "memory_replacement_policy", &kind_eviction, AT(eviction), "s3fifo",
      .meaning =
          "memory_replacement_policy s3fifo|lru|heap GDSF|heap LFUDA|heap LRU\n"
          "Who makes room. s3fifo: what was asked for once leaves early. lru and heap LRU: the least recently used.\n"
          "heap GDSF: few hits for its size, so many small ones stay, for the most hits. heap LFUDA: few hits,\n"
          "whatever its size, for more bytes from the cache; in both the old ones age." },
    { "minimum_object_size", &kind_size, AT(minimum_object_size), "0 KB",
      .meaning = "Smaller responses aren't stored." },
    { "maximum_object_size", &kind_size, AT(maximum_object_size), "4 MB",
      .meaning = "See maximum_object_size_in_memory." },
    { "cache", &kind_access, AT(cache), NULL,
      .meaning =
          "cache allow|deny [!]acl...\n"
          "Requests that may be answered from the cache and whose responses may be stored. Without any line all.",
      .flags = REPEATS | ALLOWS, .aliases = "no_cache" },
    { "send_hit", &kind_access, AT(send_hit), NULL,
      .meaning = "send_hit allow|deny [!]acl...\n"
                 "Requests that may be answered from the cache.",
      .flags = REPEATS | ALLOWS },
    { "store_miss", &kind_access, AT(store_miss), NULL,
      .meaning = "store_miss allow|deny [!]acl...\n"
                 "Responses that may be stored.",
      .flags = REPEATS | ALLOWS },
    { "max_stale", &kind_duration, AT(max_stale), "1 week",
      .meaning = "How long past its freshness a response may still be served when the origin can't be reached." },
    { "refresh_pattern", &kind_refresh, AT(refresh), NULL,
      .meaning = "refresh_pattern [-i] regex min percent max [options]\n"
                 "How long, in minutes, a response stays fresh that says nothing about it: percent of its age when it "
                 "came, at\n"
                 "least min, at most max. The first regex that matches the URL counts. Options: override-expire "
                 "override-lastmod\n"
                 "reload-into-ims ignore-reload ignore-no-store ignore-private refresh-ims store-stale "
                 "max-stale=minutes; most\n"
                 "break RFC 9111. ignore-reload: a client's no-cache and max-age=0 don't count; refresh-ims: "
                 "If-Modified-Since has the\n"
                 "origin asked; reload-into-ims is what happens anyway: no-cache validates what has a validator.",
      .flags = REPEATS },
    { "quick_abort_min", &kind_signed_size, AT(quick_abort_min), "16 KB",
      .meaning = "When a client leaves while its response is being fetched: finish it if less than this is missing. "
                 "-1: always.",
      .flags = UNIT_KB | MAY_BE_NEGATIVE },
    { "quick_abort_max", &kind_signed_size, AT(quick_abort_max), "16 KB",
      .meaning = "... and give up if more than this is missing.", .flags = UNIT_KB | MAY_BE_NEGATIVE },
    { "quick_abort_pct", &kind_percent, AT(quick_abort_pct), "95",
      .meaning = "... and finish it if more than this part of it is there." },
    { "read_ahead_gap", &kind_signed_size, AT(read_ahead_gap), "16 KB",
      .meaning = "How far a fetch may run ahead of the client that reads it.", .low = 4 * KB, .high = 1024 * MB },
    { "negative_ttl", &kind_duration, AT(negative_ttl), "0 seconds",
      .meaning = "How long error responses without explicit freshness are stored. More than 0 breaks RFC 9111." },
    { "minimum_expiry_time", &kind_duration, AT(minimum_expiry_time), "0 seconds",
      .meaning = "Responses that are fresh for less and have no validator aren't stored." },
    { "cache_control_targets", &kind_field_names, AT(cache_control_targets), "CDN-Cache-Control",
      .meaning = "Targeted fields (RFC 9213) that are meant for this cache where it is an accelerator, or none. The "
                 "first that a\n"
                 "response has, well-formed and not empty, counts instead of Cache-Control and Expires." },
    { "offline_mode", &kind_switch, AT(offline_mode), "off",
      .meaning =
          "What is stored is served whatever its age and whatever the client says: for the time without a network. "
          "Not what its\n"
          "origin wants validated." },
    { "refresh_all_ims", &kind_switch, AT(refresh_all_ims), "off",
      .meaning =
          "A request with If-Modified-Since or If-None-Match has what is stored validated, however fresh it is.\n"
          "refresh-ims of refresh_pattern does that for some URLs." },
    { "cache_miss_revalidate", &kind_switch, AT(cache_miss_revalidate), "on",
      .meaning = "A miss goes on with the client's If-Modified-Since and If-None-Match. off: without them, so that the "
                 "whole comes\n"
                 "and can be stored." },
    { "store_set_cookie", &kind_switch, AT(store_set_cookie), "on",
      .meaning = "Responses with Set-Cookie are stored like others (RFC 9111 section 7.3). off: they aren't stored." },
    { "range_offset_limit", &kind_size_limit, AT(range_offset_limits), NULL,
      .meaning = "range_offset_limit none|size [[!]acl...]\n"
                 "When a part of a response is asked for that begins before this byte, the whole is fetched, so that "
                 "it can be\n"
                 "stored; none: always. See quick_abort_min, too. Without any line parts are fetched as parts.",
      .flags = REPEATS },
    { "range_parts_max", &kind_count, AT(range_parts_max), "16",
      .meaning = "How many parts one request may have of a stored response; with more, it gets the whole.", .low = 1,
      .high = RANGE_PARTS_MOST },
    { "collapsed_forwarding", &kind_switch, AT(collapsed_forwarding), "on",
      .meaning = "Concurrent misses of one URL wait for one fetch." },
    { "collapsed_forwarding_access", &kind_access, AT(collapsed_forwarding_access), NULL,
      .meaning = "collapsed_forwarding_access allow|deny [!]acl...\n"
                 "Which requests may wait for others' fetches, and have others wait for theirs. Without any line all.",
      .flags = REPEATS | ALLOWS },
    { "vary_variants_max", &kind_count, AT(vary_variants_max), "64",
      .meaning = "How many variants of one URL (Vary) are kept.", .low = 1, .high = 65536 },
    { "vary_ignore_expire", &kind_switch, AT(vary_ignore_expire), "off",
      .meaning = "In a response with Vary an Expires that equals its Date says nothing; refresh_pattern decides. For "
                 "servers\nthat send it to every client they take for an old one." },
    /* logs */
    { "logformat", &kind_logformat, AT(logformats), NULL,
      .meaning = "logformat name format...\n"
                 "Names a format for access_log. squid, common, combined, referrer and useragent exist from the start.",
      .flags = REPEATS | RAW },
    { "access_log", &kind_access_log, AT(logs), "stdio:${logdir}/access.log squid",
      .meaning =
          "access_log none [[!]acl...]   or   access_log stdio:/path [logformat=name] [on-error=die|drop] [[!]acl...]\n"
          "Where a line for each request goes; several lines make several logs. What matches the acls of a "
          "`none` is in no log\n"
          "named below it. The old form, /path name, works "
          "too, and\n"
          "daemon: means stdio:. A log that can't be written never stops traffic, but with on-error=die. One that "
          "can't "
          "be\nopened has no lines until it can be; at a reload, the old configuration stays.",
      .flags = REPEATS, .aliases = "cache_access_log" },
    { "logfile_rotate", &kind_count, AT(logfile_rotate), "10",
      .meaning =
          "How many old logs a rotation keeps (.0, .1, ...). 0: the files are only opened anew, for logrotate(8).",
      .high = 1000 },
    { "log_mime_hdrs", &kind_switch, AT(log_mime_hdrs), "off",
      .meaning = "Adds the heads of request and response to each line." },
    { "client_netmask", &kind_netmask, AT(client_netmask), "255.255.255.255",
      .meaning =
          "client_netmask IPv4-mask [IPv6-mask]\n"
          "How much of clients' addresses logs show. Without an IPv6 mask, of IPv6 addresses twice as many bits: "
          "255.255.255.0\n"
          "leaves /24 and /48." },
    { "strip_query_terms", &kind_switch, AT(strip_query_terms), "on",
      .meaning = "Leaves what follows the ? out of the logs." },
    { "pid_filename", &kind_string, AT(pid_filename), "${rundir}/loligo.pid",
      .meaning = "Where the process number is written; none: nowhere." },
    { "cache_log", &kind_string, AT(cache_log), "${logdir}/cache.log",
      .meaning = "What happens to the proxy itself is told here." },
    { "debug_options", &kind_debug_options, AT(debug_level), "ALL,1",
      .meaning = "debug_options ALL,level\n"
                 "How much cache_log gets, 0 to 9. Levels of single sections are accepted and mean nothing." },
    { "high_response_time_warning", &kind_duration, AT(high_response_time_warning), "0",
      .meaning =
          "In milliseconds: cache_log gets a line each minute in which half of the responses took longer. 0: none.",
      .flags = UNIT_MS },
    { "high_page_fault_warning", &kind_count, AT(high_page_fault_warning), "0",
      .meaning = "Likewise when more pages a second than this were waited for (swapping). 0: none.",
      .high = 1000000000 },
    { "high_memory_warning", &kind_size, AT(high_memory_warning), "0 KB",
      .meaning = "Likewise, and at the start, when the process has more than this in memory. 0: none.",
      .flags = UNIT_KB },
    { "coredump_dir", &kind_string, AT(coredump_dir), "none", .meaning = "The directory the process changes to." },
    { "umask", &kind_umask, AT(umask), "027",
      .meaning =
          "Which of the permissions 0644 files are made without (octal), besides those the umask at start takes." },
    /* names and user */
    { "cache_effective_user", &kind_string, AT(effective_user), "proxy",
      .meaning = "The user to become after a start as root." },
    { "cache_effective_group", &kind_string, AT(effective_group), NULL,
      .meaning = "The group to become; by default that of the user." },
    { "visible_hostname", &kind_string, AT(visible_hostname), NULL,
      .meaning = "This proxy's name in Via and on error pages; by default the host's." },
    { "unique_hostname", &kind_string, AT(unique_hostname), NULL,
      .meaning = "This proxy's name in Via, by which it sees loops: where several have the same visible_hostname." },
    { "hostname_aliases", &kind_field_names, AT(hostname_aliases), NULL,
      .meaning = "hostname_aliases name... or none\n"
                 "Other names under which this proxy is asked for its manager pages." },
    { "cache_mgr", &kind_string, AT(cache_mgr), "webmaster", .meaning = "Whom error pages name for questions." },
    { "error_directory", &kind_string, AT(error_directory), NULL,
      .meaning = "A directory of error pages (files ERR_*) that replace the built-in ones for people at browsers. "
                 "%codes in them are\n"
                 "Squid's, and %r: FILE:LINE of the rule that denied it. Programs that ask for JSON\nor plain text get "
                 "the built-in forms.",
      .flags = NONE_IS_NULL },
    { "deny_info", &kind_deny_info, AT(deny_infos), NULL,
      .meaning =
          "deny_info [status:]page|url|TCP_RESET acl...\n"
          "What a denied request gets, by the last ACL of the line that denied it: a page (of error_directory, a "
          "path,\n"
          "or built in), a redirection to a URL that may have %codes (302 unless a status is given), or a reset.",
      .flags = REPEATS },
    { "err_page_stylesheet", &kind_string, AT(err_page_stylesheet), NULL,
      .meaning = "A file of CSS for error pages: %l in those of error_directory, added to the built-in ones.",
      .flags = NONE_IS_NULL },
    { "err_html_text", &kind_text, AT(err_html_text), NULL,
      .meaning = "HTML that %L stands for in pages of error_directory.", .flags = RAW },
    { "email_err_data", &kind_switch, AT(email_err_data), "on",
      .meaning = "%W in pages of error_directory, for mailto: links, says what happened." },
    { "httpd_suppress_version_string", &kind_switch, AT(httpd_suppress_version_string), "off",
      .meaning = "Leaves the version out of what clients see." },
    { "cachemgr_passwd", &kind_cachemgr, AT(cachemgr), NULL,
      .meaning = "cachemgr_passwd password|disable|none action...\n"
                 "A password for manager pages, no access to them at all, or access without one.",
      .flags = REPEATS },
    /* protocol */
    { "via", &kind_switch, AT(via), "on",
      .meaning = "Adds this proxy to Via. RFC 9110 demands it, and loops are seen by it." },
    { "x_cache", &kind_switch, AT(x_cache), "on",
      .meaning = "Adds X-Cache and X-Cache-Lookup to responses: was it a hit, and was anything stored?" },
    { "cache_status", &kind_switch, AT(cache_status), "off",
      .meaning =
          "Adds Cache-Status (RFC 9211) to responses: why it was a hit or a miss. It tells clients of the inside." },
    { "x_access_line", &kind_switch, AT(x_access_line), "off",
      .meaning = "Adds X-Access-Line to responses: FILE:LINE of the access rule that let the request in or denied it. "
                 "It tells "
                 "clients\nhow this file is laid out; reply_header_add with %Sl does it for some. Error pages have %r "
                 "for it." },
    { "forwarded_for", &kind_forwarded_for, AT(forwarded_for), "on",
      .meaning =
          "What X-Forwarded-For gets: the client (on), unknown (off), what the client sent (transparent), the client\n"
          "alone (truncate), or nothing, the field being removed (delete)." },
    { "request_header_access", &kind_header_access, AT(request_headers), NULL,
      .meaning = "request_header_access field|All|Other allow|deny [!]acl...\n"
                 "Which fields stay in requests to origins and peers. The lines of the field's name\n"
                 "count; without any, those of Other (fields this proxy doesn't know), then those of All. Vary still\n"
                 "selects by what the client sent.",
      .flags = REPEATS },
    { "request_header_replace", &kind_header_replace, AT(request_headers), NULL,
      .meaning = "request_header_replace field value\n"
                 "A field that request_header_access denies gets this value instead of being taken out.",
      .flags = REPEATS | RAW, .aliases = "header_replace" },
    { "request_header_add", &kind_header_add, AT(request_headers), NULL,
      .meaning = "request_header_add field \"value\" [[!]acl...]\n"
                 "Adds a field. A value in quotes may have the %codes of logformat.",
      .flags = REPEATS },
    { "reply_header_access", &kind_header_access, AT(reply_headers), NULL,
      .meaning =
          "reply_header_access field|All|Other allow|deny [!]acl...\n"
          "Which fields stay in responses to clients, also stored ones and error pages. The lines of the field's name\n"
          "count; without any, those of Other (fields this proxy doesn't know), then those of All.",
      .flags = REPEATS },
    { "reply_header_replace", &kind_header_replace, AT(reply_headers), NULL,
      .meaning = "reply_header_replace field value\n"
                 "A field that reply_header_access denies gets this value instead of being taken out.",
      .flags = REPEATS | RAW },
    { "reply_header_add", &kind_header_add, AT(reply_headers), NULL,
      .meaning = "reply_header_add field \"value\" [[!]acl...]\n"
                 "Adds a field. A value in quotes may have the %codes of logformat.",
      .flags = REPEATS },
    { "relaxed_header_parser", &kind_relaxed, AT(relaxed_header_parser), "off",
      .meaning = "Admits lines that end in LF alone, and blanks where one was meant. Never laxer about where a message "
                 "ends." },
    { "uri_whitespace", &kind_uri_whitespace, AT(uri_whitespace), "deny",
      .meaning =
          "What becomes of a request whose URL has blanks: deny (400), strip (they are taken out), encode (%20) or\n"
          "chop (it ends in front of the first). RFC 9112 section 3 advises against all but deny: what is made of\n"
          "the URL may be a way around filters in front of this proxy; its own rules see what it has become.\n"
          "Squid's allow isn't there: nothing can be forwarded so." },
    { "check_hostnames", &kind_switch, AT(check_hostnames), "off",
      .meaning =
          "Whether allow_underscore counts. Besides underscores host names are checked in any case: letters, digits,\n"
          "hyphens and dots, parts of 63 bytes at the most, 253 in all." },
    { "allow_underscore", &kind_switch, AT(allow_underscore), "on",
      .meaning = "Admits host names with an underscore; off counts with check_hostnames on only." },
    { "host_verify_strict", &kind_switch, AT(host_verify_strict), "off",
      .meaning =
          "on: a request whose Host names another host or port than its URL (or CONNECT's target) gets 409.\noff: "
          "the URL counts, and Host goes on as the URL has it. One without Host (HTTP/1.0) passes." },
    { "request_header_max_size", &kind_size, AT(request_header_max_size), "64 KB",
      .meaning = "Larger request heads are refused (431; 414 when it is the URL).", .low = KB, .high = 16 * MB },
    { "reply_header_max_size", &kind_size, AT(reply_header_max_size), "64 KB",
      .meaning = "Larger response heads are refused (502).", .low = KB, .high = 16 * MB },
    { "header_fields_max", &kind_count, AT(header_fields_max), "256", .meaning = "Heads with more fields are refused.",
      .low = 16, .high = HEAD_FIELDS_MAX },
    { "interim_responses_max", &kind_count, AT(interim_responses_max), "64",
      .meaning = "How many 1xx responses an origin may send before its final one.", .low = 1, .high = 10000 },
    { "chunk_extension_max", &kind_size, AT(chunk_extension_max), "16 KB",
      .meaning = "How many bytes of chunk extensions a message may have in all.", .high = 16 * MB },
    { "request_body_max_size", &kind_size, AT(request_body_max_size), "0 KB",
      .meaning = "Larger request bodies are refused (413). 0: no limit." },
    { "request_entities", &kind_switch, AT(request_entities), "on",
      .meaning = "GET and HEAD may have a body; it goes on, and nothing of the answer is stored. off: they are refused "
                 "(400)." },
    { "note", &kind_note, AT(notes), NULL,
      .meaning = "note name value [[!]acl...]\n"
                 "An annotation for the log (%{name}note) of requests for which the ACLs all hold when they end.",
      .flags = REPEATS },
    { "reply_body_max_size", &kind_size_limit, AT(reply_limits), NULL,
      .meaning = "reply_body_max_size none|size [[!]acl...]\n"
                 "Longer response bodies are refused (403), or cut off where the length wasn't known before. The first "
                 "line whose\n"
                 "ACLs all hold counts.",
      .flags = REPEATS | ZERO_IS_NONE },
    { "client_request_buffer_max_size", &kind_size, AT(client_request_buffer_max_size), "512 KB",
      .meaning = "How much of a request is held while it can't be forwarded.", .high = 1024 * MB },
    { "pipeline_prefetch", &kind_count, AT(pipeline_prefetch), "0",
      .meaning = "How many requests that a client sent behind the one in hand are begun before that is answered; "
                 "answers go in\n"
                 "order. Plain GETs of what isn't stored; each fetches for itself. on: 1.",
      .flags = MAY_BE_SWITCH, .high = 1000 },
    /* connections */
    { "client_persistent_connections", &kind_switch, AT(client_persistent_connections), "on",
      .meaning = "Clients may send several requests over one connection." },
    { "server_persistent_connections", &kind_switch, AT(server_persistent_connections), "on",
      .meaning = "Connections to origins and peers are kept for the next request." },
    { "persistent_connection_after_error", &kind_switch, AT(persistent_connection_after_error), "on",
      .meaning = "A client's connection stays open after a response of status 400 or more." },
    { "server_pconn_for_nonretriable", &kind_access, AT(server_pconn_for_nonretriable), NULL,
      .meaning =
          "server_pconn_for_nonretriable allow|deny [!]acl...\n"
          "Which requests that can't be repeated (POST, those with a body) may use a connection that has rested. When\n"
          "the server closes it just then, the client gets a 502. Without any line none: they get one of their own.",
      .flags = REPEATS },
    { "pconn_lifetime", &kind_duration, AT(pconn_lifetime), "0 seconds",
      .meaning =
          "How old a connection may be and still be kept for another request: an older one of a client ends with the "
          "next\n"
          "answer, or when it has rested for a second; one to a server isn't used again. 0: any age." },
    { "tcp_recv_bufsize", &kind_size, AT(tcp_recv_bufsize), "0 KB",
      .meaning = "The kernel's receive buffer of each connection, to clients and servers. 0: as the kernel chooses and "
                 "adapts; ports\n"
                 "that had another size need a restart for that.",
      .high = 1024 * MB },
    { "force_request_body_continuation", &kind_access, AT(force_request_body_continuation), NULL,
      .meaning = "force_request_body_continuation allow|deny [!]acl...\n"
                 "Which clients that wait for a 100 (Continue) get it from here, at once, instead of from the server. "
                 "Without any line\n"
                 "none, but see expect_continue_timeout.",
      .flags = REPEATS },
    { "http_upgrade_request_protocols", &kind_upgrade, AT(upgrades), NULL,
      .meaning = "http_upgrade_request_protocols protocol|OTHER allow|deny [!]acl...\n"
                 "Protocols a client may ask to change to, such as websocket; OTHER: those without lines of their own. "
                 "Without any\n"
                 "line Upgrade is taken out of requests.",
      .flags = REPEATS },
    { "half_closed_clients", &kind_tristate, AT(half_closed_clients), "auto",
      .meaning =
          "Whether a client that closed its sending half still gets its response. auto: yes, for what it had asked." },
    { "forward_timeout", &kind_duration, AT(forward_timeout), "4 minutes",
      .meaning = "How long all attempts to forward one request may take together." },
    { "connect_timeout", &kind_duration, AT(connect_timeout), "1 minute",
      .meaning = "How long a connection to an origin may take to come about." },
    { "peer_connect_timeout", &kind_duration, AT(peer_connect_timeout), "30 seconds",
      .meaning = "The same for a peer." },
    { "read_timeout", &kind_duration, AT(read_timeout), "15 minutes",
      .meaning = "How long an origin may be silent in the middle of a response." },
    { "write_timeout", &kind_duration, AT(write_timeout), "15 minutes",
      .meaning = "How long a client may take nothing in the middle of a response." },
    { "request_timeout", &kind_duration, AT(request_timeout), "1 minute",
      .meaning = "How long a request head may take from its first byte to its last, however steadily it comes." },
    { "request_start_timeout", &kind_duration, AT(request_start_timeout), "5 minutes",
      .meaning = "How long a new connection may wait before its first byte." },
    { "expect_continue_timeout", &kind_duration, AT(expect_continue_timeout), "500",
      .meaning =
          "Milliseconds an origin has for its 100 (Continue); then a client that waits for one gets it from here.",
      .flags = UNIT_MS },
    { "client_idle_pconn_timeout", &kind_duration, AT(client_idle_pconn_timeout), "2 minutes",
      .meaning = "How long a client's connection may rest between requests.", .aliases = "persistent_request_timeout" },
    { "server_idle_pconn_timeout", &kind_duration, AT(server_idle_pconn_timeout), "1 minute",
      .meaning = "How long a connection to an origin is kept without use.", .aliases = "pconn_timeout" },
    { "client_lifetime", &kind_duration, AT(client_lifetime), "1 day",
      .meaning = "How long one request may take in all." },
    { "shutdown_lifetime", &kind_duration, AT(shutdown_lifetime), "30 seconds",
      .meaning = "How long a stop waits for what is in progress." },
    { "client_db", &kind_switch, AT(client_db), "on",
      .meaning = "Counts what each client address asks for: mgr:client_list." },
    { "client_ip_max_connections", &kind_count, AT(client_ip_max_connections), "-1",
      .meaning =
          "How many connections one client address may have, on all workers together; one more is closed at once, "
          "with\n"
          "a line error:accept-client-connection in access.log. -1: any number. `acl x maxconn` counts the same.",
      .flags = MAY_BE_NEGATIVE, .high = 1000000 },
    { "max_filedescriptors", &kind_count64, AT(max_filedescriptors), "0",
      .meaning =
          "How many files and connections may be open. 0: as the system says. A quarter of them, at most 1000, is kept "
          "for\n"
          "connections to servers: when clients have all others, resting connections are closed and new ones wait.",
      .aliases = "max_filedesc" },
    /* names on the network */
    { "dns_nameservers", &kind_nameservers, AT(nameservers), NULL,
      .meaning = "dns_nameservers address...\n"
                 "Whom to ask instead of those in /etc/resolv.conf.",
      .flags = REPEATS },
    { "hosts_file", &kind_string, AT(hosts_file), "/etc/hosts",
      .meaning = "Names that are looked up here before DNS is asked; none: no file." },
    { "append_domain", &kind_string, AT(append_domain), NULL, .meaning = "Put behind names without a dot." },
    { "dns_defnames", &kind_switch, AT(dns_defnames), "off",
      .meaning =
          "The domains of resolv.conf's search list are tried behind names without a dot, in their order, then the "
          "name\nitself. With append_domain only that is." },
    { "dns_packet_max", &kind_signed_size, AT(dns_packet_max), "none",
      .meaning =
          "How long an answer of a DNS server may be by UDP (EDNS); longer ones come by TCP. none: 512 bytes. More "
          "than 4096\nbytes is 4096.",
      .flags = MAY_BE_NEGATIVE, .low = 512, .high = 65535 },
    { "dns_timeout", &kind_duration, AT(dns_timeout), "30 seconds",
      .meaning = "How long one name or address may take to look up." },
    { "dns_retransmit_interval", &kind_duration, AT(dns_retransmit_interval), "5 seconds",
      .meaning = "How long until a question is sent again." },
    { "positive_dns_ttl", &kind_duration, AT(positive_dns_ttl), "6 hours",
      .meaning = "An answer is kept no longer than this." },
    { "negative_dns_ttl", &kind_duration, AT(negative_dns_ttl), "1 minute",
      .meaning = "How long it is kept that a name doesn't exist." },
    { "ipcache_size", &kind_count, AT(ipcache_size), "1024", .meaning = "How many names are kept.", .low = 1,
      .high = 10000000 },
    { "fqdncache_size", &kind_count, AT(fqdncache_size), "1024",
      .meaning = "How many addresses are kept with their names.", .high = 10000000 },
    { "happy_eyeballs_connect_timeout", &kind_duration, AT(happy_eyeballs_connect_timeout), "250",
      .meaning = "Milliseconds until an address of the other family is tried beside the first.", .flags = UNIT_MS },
    { "happy_eyeballs_connect_gap", &kind_count, AT(happy_eyeballs_connect_gap), "-1",
      .meaning = "Milliseconds between any two such connections beside a first, of the whole process. -1: none.",
      .flags = MAY_BE_NEGATIVE, .high = 3600000 },
    { "happy_eyeballs_connect_limit", &kind_count, AT(happy_eyeballs_connect_limit), "-1",
      .meaning =
          "How many such connections may be under way, in the whole process. 0: the next address is tried when the "
          "one before\n"
          "has failed. -1: any number.",
      .flags = MAY_BE_NEGATIVE, .high = 1000000 },
    /* the file itself */
    { "configuration_includes_quoted_values", &kind_quoted_values, 0, "off",
      .meaning =
          "off: \"/path\" in an acl is a list file. on: quotes only quote, and a list file is parameters(\"/path\").",
      .flags = REPEATS },
    { .name = NULL },
};

#define WORKING (sizeof directives_working / sizeof directives_working[0] - 1)
#define NAMES_MAX 512

const struct directive *directive_at(size_t i)
{
    return i < WORKING ? &directives_working[i] : &directives_ignored[i - WORKING];
}

size_t directive_count(void)
{
    size_t n = 0;

    while (directives_ignored[n].name != NULL)
        n++;
    return WORKING + n;
}

/* Is it one of the words? */
static bool has_word(const char *words, struct span word)
{
    while (words != NULL && *words != '\0') {
        size_t len = strcspn(words, " ");

        if (span_eq(word, span_of(words, len)))
            return true;
        words += len + (words[len] == ' ');
    }
    return false;
}

int directive_find(struct span name)
{
    size_t n = directive_count();

    for (size_t i = 0; i < n; i++)
        if (span_eq(name, span_str(directive_at(i)->name)))
            return (int)i;
    for (size_t i = 0; i < n; i++)
        if (has_word(directive_at(i)->aliases, name))
            return (int)i;
    return -1;
}

const char *const *directive_names(void)
{
    static const char *names[NAMES_MAX];
    static size_t n;

    if (n == 0) { /* one thread reads configurations */
        while (n < directive_count() && n < NAMES_MAX - 2) {
            names[n] = directive_at(n)->name;
            n++;
        }
        names[n++] = "include";
        names[n] = NULL;
    }
    return names;
}
