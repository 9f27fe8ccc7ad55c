#include "harness.h"
#include "conf/directive.h"

/* Every name Squid 5.7 knows, its obsolete ones included: none may be unknown here. */
static const char squid_names[] =
    "broken_vary_encoding cache_vary error_map external_refresh_check location_rewrite_program refresh_stale_hit "
    "dns_v4_first cache_peer_domain ie_refresh sslproxy_cafile sslproxy_capath sslproxy_cipher "
    "sslproxy_client_certificate sslproxy_client_key sslproxy_flags sslproxy_options sslproxy_version "
    "hierarchy_stoplist log_access log_icap ignore_ims_on_miss balance_on_multiple_ip "
    "chunked_request_body_max_size dns_v4_fallback emulate_httpd_log forward_log ftp_list_width ignore_expect_100 "
    "log_fqdn log_ip_on_direct maximum_single_addr_tries referer_log update_headers url_rewrite_concurrency "
    "useragent_log dns_testnames extension_methods zero_buffers incoming_rate server_http11 upgrade_http0.9 "
    "zph_local header_access httpd_accel_no_pmtu_disc wais_relay_host wais_relay_port workers cpu_affinity_map "
    "shared_memory_locking hopeless_kid_revival_delay auth_param authenticate_cache_garbage_interval "
    "authenticate_ttl authenticate_ip_ttl external_acl_type acl proxy_protocol_access follow_x_forwarded_for "
    "acl_uses_indirect_client delay_pool_uses_indirect_client log_uses_indirect_client "
    "tproxy_uses_indirect_client spoof_client_ip http_access adapted_http_access http_reply_access icp_access "
    "htcp_access htcp_clr_access miss_access ident_lookup_access reply_body_max_size on_unsupported_protocol "
    "auth_schemes http_port https_port ftp_port tcp_outgoing_tos clientside_tos tcp_outgoing_mark "
    "mark_client_packet mark_client_connection qos_flows tcp_outgoing_address host_verify_strict "
    "client_dst_passthru tls_outgoing_options ssl_unclean_shutdown ssl_engine sslproxy_session_ttl "
    "sslproxy_session_cache_size sslproxy_foreign_intermediate_certs sslproxy_cert_sign_hash ssl_bump "
    "sslproxy_cert_error sslproxy_cert_sign sslproxy_cert_adapt sslpassword_program sslcrtd_program "
    "sslcrtd_children sslcrtvalidator_program sslcrtvalidator_children cache_peer cache_peer_access "
    "neighbor_type_domain dead_peer_timeout forward_max_tries cache_mem maximum_object_size_in_memory "
    "memory_cache_shared memory_cache_mode memory_replacement_policy cache_replacement_policy minimum_object_size "
    "maximum_object_size cache_dir store_dir_select_algorithm max_open_disk_fds cache_swap_low cache_swap_high "
    "logformat access_log icap_log logfile_daemon stats_collection cache_store_log cache_swap_state "
    "logfile_rotate mime_table log_mime_hdrs pid_filename client_netmask strip_query_terms buffered_logs "
    "netdb_filename cache_log debug_options coredump_dir ftp_user ftp_passive ftp_epsv_all ftp_epsv ftp_eprt "
    "ftp_sanitycheck ftp_telnet_protocol diskd_program unlinkd_program pinger_program pinger_enable "
    "url_rewrite_program url_rewrite_children url_rewrite_host_header url_rewrite_access url_rewrite_bypass "
    "url_rewrite_extras url_rewrite_timeout store_id_program store_id_extras store_id_children store_id_access "
    "store_id_bypass cache send_hit store_miss max_stale refresh_pattern quick_abort_min quick_abort_max "
    "quick_abort_pct read_ahead_gap negative_ttl positive_dns_ttl negative_dns_ttl range_offset_limit "
    "minimum_expiry_time store_avg_object_size store_objects_per_bucket request_header_max_size "
    "reply_header_max_size request_body_max_size client_request_buffer_max_size broken_posts "
    "adaptation_uses_indirect_client via vary_ignore_expire request_entities request_header_access "
    "reply_header_access request_header_replace reply_header_replace request_header_add reply_header_add note "
    "relaxed_header_parser collapsed_forwarding collapsed_forwarding_access shared_transient_entries_limit "
    "forward_timeout connect_timeout peer_connect_timeout read_timeout write_timeout request_timeout "
    "request_start_timeout client_idle_pconn_timeout ftp_client_idle_timeout client_lifetime pconn_lifetime "
    "half_closed_clients server_idle_pconn_timeout ident_timeout shutdown_lifetime cache_mgr mail_from "
    "mail_program cache_effective_user cache_effective_group httpd_suppress_version_string visible_hostname "
    "unique_hostname hostname_aliases umask announce_period announce_host announce_file announce_port "
    "httpd_accel_surrogate_id http_accel_surrogate_remote esi_parser delay_pools delay_class delay_access "
    "delay_parameters delay_initial_bucket_level client_delay_pools client_delay_initial_bucket_level "
    "client_delay_parameters client_delay_access response_delay_pool response_delay_pool_access wccp_router "
    "wccp2_router wccp_version wccp2_rebuild_wait wccp2_forwarding_method wccp2_return_method "
    "wccp2_assignment_method wccp2_service wccp2_service_info wccp2_weight wccp_address wccp2_address "
    "client_persistent_connections server_persistent_connections persistent_connection_after_error "
    "detect_broken_pconn digest_generation digest_bits_per_entry digest_rebuild_period digest_rewrite_period "
    "digest_swapout_chunk_size digest_rebuild_chunk_percentage snmp_port snmp_access snmp_incoming_address "
    "snmp_outgoing_address icp_port htcp_port log_icp_queries udp_incoming_address udp_outgoing_address "
    "icp_hit_stale minimum_direct_hops minimum_direct_rtt netdb_low netdb_high netdb_ping_period query_icmp "
    "test_reachability icp_query_timeout maximum_icp_query_timeout minimum_icp_query_timeout background_ping_rate "
    "mcast_groups mcast_miss_addr mcast_miss_ttl mcast_miss_port mcast_miss_encode_key mcast_icp_query_timeout "
    "icon_directory global_internal_static short_icon_urls error_directory error_default_language "
    "error_log_languages err_page_stylesheet err_html_text email_err_data deny_info nonhierarchical_direct "
    "prefer_direct cache_miss_revalidate always_direct never_direct incoming_udp_average incoming_tcp_average "
    "incoming_dns_average min_udp_poll_cnt min_dns_poll_cnt min_tcp_poll_cnt accept_filter "
    "client_ip_max_connections tcp_recv_bufsize icap_enable icap_connect_timeout icap_io_timeout "
    "icap_service_failure_limit icap_service_revival_delay icap_preview_enable icap_preview_size icap_206_enable "
    "icap_default_options_ttl icap_persistent_connections adaptation_send_client_ip adaptation_send_username "
    "icap_client_username_header icap_client_username_encode icap_service icap_class icap_access ecap_enable "
    "ecap_service loadable_modules adaptation_service_set adaptation_service_chain adaptation_access "
    "adaptation_service_iteration_limit adaptation_masterx_shared_names adaptation_meta icap_retry "
    "icap_retry_limit check_hostnames allow_underscore dns_retransmit_interval dns_timeout dns_packet_max "
    "dns_defnames dns_multicast_local dns_nameservers hosts_file append_domain ignore_unknown_nameservers "
    "ipcache_size ipcache_low ipcache_high fqdncache_size configuration_includes_quoted_values memory_pools "
    "memory_pools_limit forwarded_for cachemgr_passwd client_db refresh_all_ims reload_into_ims connect_retries "
    "retry_on_error as_whois_server offline_mode uri_whitespace chroot pipeline_prefetch "
    "high_response_time_warning high_page_fault_warning high_memory_warning sleep_after_fork "
    "windows_ipaddrchangemonitor eui_lookup max_filedescriptors force_request_body_continuation "
    "http_upgrade_request_protocols server_pconn_for_nonretriable happy_eyeballs_connect_timeout "
    "happy_eyeballs_connect_gap happy_eyeballs_connect_limit include ";

static void every_name_of_squid_is_known(void **state)
{
    const char *p = squid_names;
    size_t n = 0;

    (void)state;
    for (; *p != '\0'; n++) {
        size_t len = strcspn(p, " ");

        if (directive_find(span_of(p, len)) < 0 && !span_eq(span_of(p, len), SPAN("include")))
            fail_msg("%.*s is unknown", (int)len, p);
        p += len + 1;
    }
    assert_int_equal(n, 385);
}

static void rows_are_complete_and_names_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < directive_count(); i++) {
        const struct directive *d = directive_at(i);

        if (directive_find(span_str(d->name)) != (int)i)
            fail_msg("%s is there twice", d->name);
        if (d->meaning == NULL || d->meaning[0] == '\0' || (d->class == WORKS && d->kind == NULL) ||
            (d->class != WORKS && d->class != ACCEPTED && d->kind != NULL))
            fail_msg("%s lacks something", d->name);
        if (d->class == REFUSED && d->instead == NULL)
            fail_msg("%s is refused without a word about why", d->name);
        for (const char *a = d->aliases; a != NULL && *a != '\0';) {
            size_t len = strcspn(a, " ");

            if (directive_find(span_of(a, len)) != (int)i)
                fail_msg("%.*s is there twice", (int)len, a);
            a += len + (a[len] == ' ');
        }
    }
    assert_null(directive_at(directive_count())->name);
    assert_int_equal(directive_find(SPAN("")), -1);
    assert_int_equal(directive_find(SPAN("http")), -1);
}

static void every_default_is_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < directive_count(); i++) {
        const struct directive *d = directive_at(i);
        char *text = xasprintf("%s %s", d->name, d->preset != NULL ? d->preset : "");
        struct said said;
        struct settings *s;

        if (d->class == WORKS && d->preset != NULL) {
            s = read_more(&said, text);
            if (s == NULL || said.report.warnings > 0)
                fail_msg("%s: %s", text, said_text(&said));
            settings_unref(&s);
            sb_free(&said.text);
        }
        free(text);
    }
}

/* What is said about a line: nothing, a warning, an error. */
enum verdict { FINE, WARNED, ERROR };
static const struct {
    const char *line;
    enum verdict want;
} lines[] = {
    /* what would widen access, drop a limit or a filter must not be ignored */
    { "auth_param basic program /x", FINE },
    { "auth_param basic program x", ERROR },
    { "auth_param digest program /x -c", FINE },
    { "auth_param negotiate program /x", FINE },
    { "auth_param negotiate keep_alive off", FINE },
    { "auth_param basic file /x", ERROR }, /* no other file is read here */
    { "auth_param ntlm program /x", ERROR },
    { "acl x proxy_auth REQUIRED", ERROR }, /* who is to check them? */
    { "acl x max_user_ip 2", ERROR },
    { "auth_param basic realm My proxy", FINE },
    { "auth_param basic credentialsttl 5 minutes", FINE },
    { "auth_param basic children 5 startup=0 idle=1 queue-size=10", FINE },
    { "auth_param basic children none", ERROR },
    { "authenticate_ttl 1 hour", FINE },
    { "auth_schemes ALL", FINE },
    { "auth_schemes ntlm all", ERROR },
    { "authenticate_ip_ttl 60 seconds", FINE },
    { "authenticate_cache_garbage_interval 1 hour", FINE },
    { "authenticate_cache_max 0", ERROR },
    { "external_acl_type x %SRC /x", FINE }, /* from text no file is looked at */
    { "external_acl_type x %SRC", ERROR },
    { "external_acl_type x ttl=5 negative_ttl=1 grace=10 cache=3 children-max=2 children-startup=1 concurrency=5 %{X} "
      "%DATA /x y",
      FINE },
    { "url_rewrite_program x", ERROR },
    { "redirect_program x", ERROR },
    { "url_rewrite_program /x", FINE }, /* from text no file is looked at */
    { "url_rewrite_program none", FINE },
    { "url_rewrite_children 5 idle=-1", ERROR },
    { "url_rewrite_timeout 5 seconds on_timeout=use_configured_response response=\"OK status=302 url=http://x/\"",
      FINE },
    { "url_rewrite_timeout 5 seconds on_timeout=x", ERROR },
    { "url_rewrite_timeout 5 seconds response=OK", ERROR },
    { "url_rewrite_extras \"%>a %un\"", FINE },
    { "url_rewrite_access deny nobody", ERROR },
    { "store_id_children 5 startup=1 concurrency=10 queue-size=5 on-persistent-overload=ERR", FINE },
    { "store_id_children 5 on-persistent-overload=x", ERROR },
    { "helper_timeout 0 seconds", ERROR },
    { "delay_pools 1", FINE },
    { "delay_pools 0", FINE },
    { "client_delay_pools 2", FINE },
    { "response_delay_pool x", FINE },
    { "delay_pools x", ERROR },
    { "delay_class 1 1", ERROR },
    { "client_delay_parameters 1 5 5", ERROR },
    { "response_delay_pool x individual-restore=5", ERROR },
    { "delay_buckets_max 1", ERROR },
    { "delay_initial_bucket_level 101", ERROR },
    { "request_header_access User-Agent deny all", FINE },
    { "request_header_access User-Agent allow all", FINE },
    { "request_header_access All deny !x", ERROR },
    { "reply_header_access Server deny all", FINE },
    { "request_header_add X-Tenant \"a\" all", FINE },
    { "header_replace User-Agent x", FINE },
    { "request_header_access Host deny all", WARNED },
    { "request_header_access Host allow all", FINE },
    { "reply_header_add X \"a\" nobody", ERROR },
    { "reply_body_max_size 10 MB", FINE },
    { "reply_body_max_size 10 MB all", FINE },
    { "reply_body_max_size 10", WARNED },
    { "reply_body_max_size ten", ERROR },
    { "reply_body_max_size 10 MB nobody", ERROR },
    { "reply_body_max_size 99999999999 GB", ERROR },
    { "reply_body_max_size none", FINE },
    { "client_ip_max_connections 4", FINE },
    { "note team red localhost", FINE },
    { "note team", ERROR },
    { "note team red nobody", ERROR },
    { "note team %un", ERROR },
    { "client_ip_max_connections -2", ERROR },
    { "client_ip_max_connections many", ERROR },
    { "client_ip_max_connections -1", FINE },
    { "follow_x_forwarded_for allow localhost", FINE },
    { "follow_x_forwarded_for allow nobody", ERROR },
    { "proxy_protocol_access allow localhost", FINE },
    { "follow_x_forwarded_for deny all", FINE },
    { "ssl_bump bump all", ERROR },
    { "ssl_bump peek step1", ERROR },
    { "ssl_bump splice all", FINE },
    /* hostile-inputs U14: what isn't built is said so. Requests for gopher:, urn: and ftp: URLs: X89 to X91. */
    { "icap_enable on", ERROR },
    { "esi_parser expat", WARNED },
    { "icap_service s respmod_precache icap://127.0.0.1/x", WARNED },
    { "ftp_user x", WARNED },
    { "icap_enable off", FINE },
    { "ecap_enable on", ERROR },
    { "adaptation_access s allow all", ERROR },
    { "adaptation_access s deny all", FINE },
    { "loadable_modules /x.so", ERROR },
    { "https_port 443 tls-cert=/x", ERROR },
    { "ftp_port 21", ERROR },
    { "tcp_outgoing_address 127.0.0.2", FINE },
    { "tcp_outgoing_address ::1 !all", FINE },
    { "tcp_outgoing_address 127.0.0.2 nobody", ERROR },
    { "tcp_outgoing_address any.example", ERROR },
    { "tcp_outgoing_address 127.0.0.0/8", ERROR },
    { "tcp_outgoing_mark 1", ERROR },
    { "tcp_outgoing_tos 1", ERROR },
    { "icp_port 3130", ERROR },
    { "icp_port 0", FINE },
    { "udp_port 0", FINE },
    { "htcp_port 4827", ERROR },
    { "htcp_port 0", FINE },
    { "snmp_port 3401", ERROR },
    { "snmp_port 0", FINE },
    { "miss_access deny all", FINE },
    { "miss_access deny nobody", ERROR },
    { "adapted_http_access deny all", FINE },
    { "adapted_http_access deny nobody", ERROR },
    { "ident_lookup_access allow all", ERROR },
    { "ident_lookup_access deny all", FINE },
    { "x_access_line on", FINE },
    { "x_access_line squid.conf", ERROR },
    { "host_verify_strict on", FINE },
    { "host_verify_strict strictly", ERROR },
    { "host_verify_strict off", FINE },
    { "client_netmask 255.255.255.0", FINE },
    { "client_netmask 255.255.255.255", FINE },
    { "client_netmask ffff:ffff:: 255.255.0.0", FINE },
    { "client_netmask 0.0.0.0", FINE },
    { "client_netmask 255.0.255.0", ERROR },
    { "client_netmask 255.255.255.0 ::ffff:0:0", ERROR },
    { "client_netmask 24", ERROR },
    { "umask 002", FINE },
    { "umask 1777", ERROR },
    { "umask 08", ERROR },
    { "umask rw", ERROR },
    { "wccp2_router 10.0.0.1", ERROR },
    { "spoof_client_ip allow all", ERROR },
    { "chroot /x", ERROR },
    { "prefer_direct on", FINE },
    { "nonhierarchical_direct off", FINE },
    { "allow_underscore off", FINE },
    { "check_hostnames on", FINE },
    { "check_hostnames maybe", ERROR },
    { "unique_hostname proxy-1.example", FINE },
    { "hostname_aliases a.example b.example", FINE },
    { "hostname_aliases none", FINE },
    { "hostname_aliases a/b", ERROR },
    { "collapsed_forwarding_access deny all", FINE },
    { "collapsed_forwarding_access deny nobody", ERROR },
    /* harmless */
    { "icp_access allow all", FINE },
    { "error_directory /usr/share/squid/errors/en", FINE },
    { "memory_pools off", FINE },
    { "url_rewrite_children 5", FINE },
    { "cache_dir ufs /var/spool/squid 100 16 256", WARNED },
    { "cache_dir null /tmp", FINE },
    { "deny_info ERR_X all", FINE },
    { "deny_info TCP_RESET all", FINE },
    { "deny_info ERR_X nobody", ERROR },
    { "store_id_program /x", FINE },
    { "range_offset_limit 0", FINE },
    { "range_offset_limit -1", FINE },
    { "range_offset_limit none all", FINE },
    { "range_parts_max 0", ERROR },
    { "range_parts_max 257", ERROR },
    { "memory_cache_mode always", FINE },
    { "memory_cache_mode disk", WARNED },
    { "uri_whitespace deny", FINE },
    { "uri_whitespace strip", FINE },
    { "uri_whitespace encode", FINE },
    { "uri_whitespace chop", FINE },
    { "uri_whitespace allow", ERROR },
    { "uri_whitespace stripe", ERROR },
    { "refresh_all_ims on", FINE },
    { "cache_miss_revalidate off", FINE },
    { "request_entities off", FINE },
    { "persistent_connection_after_error off", FINE },
    { "persistent_connection_after_error never", ERROR },
    { "hierarchy_stoplist cgi-bin ?", WARNED },
    { "dns_v4_first on", WARNED },
    { "upgrade_http0.9 deny all", WARNED },
    { "header_access From deny all", WARNED },
    { "windows_ipaddrchangemonitor off", WARNED },
    /* Squid's own values, which ask for nothing */
    { "windows_ipaddrchangemonitor on", FINE },
    { "sslcrtd_children 32 startup=5 idle=1", FINE },
    { "sslcrtd_children 32 startup=5 idle=2", WARNED },
    { "ftp_user Squid@", FINE },
    { "ftp_user me@example.com", WARNED },
    { "digest_rebuild_period 1 hour", FINE },
    { "digest_generation on", WARNED },
    { "digest_generation off", FINE },
    { "eui_lookup on", FINE },
    { "incoming_icp_average 6", FINE },
    { "min_udp_poll_cnt 9", WARNED },
    /* values of what works */
    { "cpu_affinity_map process_numbers=1,2 cores=1,3", FINE },
    { "cpu_affinity_map process_numbers=1 cores=1024", FINE },
    { "cpu_affinity_map process_numbers=1 cores=1025", ERROR },
    { "cpu_affinity_map process_numbers=0 cores=1", ERROR },
    { "cpu_affinity_map process_numbers=1,2 cores=1", ERROR },
    { "cpu_affinity_map process_numbers=1 cores=1,2", ERROR },
    { "cpu_affinity_map process_numbers=1,1 cores=1,2", ERROR },
    { "cpu_affinity_map process_numbers= cores=", ERROR },
    { "cpu_affinity_map cores=1 process_numbers=1", ERROR },
    { "cpu_affinity_map process_numbers=one cores=1", ERROR },
    { "client_db off", FINE },
    { "client_db perhaps", ERROR },
    { "vary_ignore_expire on", FINE },
    { "vary_ignore_expire maybe", ERROR },
    { "high_response_time_warning 2000", FINE },
    { "high_response_time_warning 2 seconds", FINE },
    { "high_response_time_warning slow", ERROR },
    { "high_page_fault_warning 10", FINE },
    { "high_page_fault_warning -1", ERROR },
    { "high_memory_warning 400 MB", FINE },
    { "high_memory_warning 0", FINE },
    { "high_memory_warning much", ERROR },
    { "cache_mem 64 MB", FINE },
    { "cache_mem 64MB", FINE },
    { "cache_mem 67108864", WARNED },
    { "cache_mem 1 KB", ERROR },
    { "cache_mem none", ERROR },
    { "cache_mem 64 MB or so", ERROR },
    { "quick_abort_min -1 KB", FINE },
    { "quick_abort_min -1", FINE },
    { "quick_abort_min 16", WARNED },
    { "quick_abort_pct 95%", FINE },
    { "quick_abort_pct 101", ERROR },
    { "maximum_object_size -1 KB", ERROR },
    { "request_timeout 30", FINE },
    { "request_timeout 30 secs", FINE },
    { "request_timeout -1 seconds", ERROR },
    { "request_timeout 2000 years", ERROR },
    { "via enable", FINE },
    { "via yes", ERROR },
    { "workers 4", FINE },
    { "workers -1", ERROR },
    { "workers 4 5", ERROR },
    { "workers", ERROR },
    { "half_closed_clients on", FINE },
    { "half_closed_clients auto", FINE },
    { "forwarded_for delete", FINE },
    { "forwarded_for hidden", ERROR },
    { "relaxed_header_parser warn", FINE },
    { "header_fields_max 257", ERROR },
    { "memory_replacement_policy lru", FINE },
    { "memory_replacement_policy heap LRU", FINE },
    { "memory_replacement_policy heap GDSF", FINE },
    { "memory_replacement_policy heap LFUDA", FINE },
    { "memory_replacement_policy heap", ERROR },
    { "memory_replacement_policy clock", ERROR },
    { "cache_replacement_policy lru", FINE },
    { "cache_replacement_policy heap GDSF", FINE },
    { "cache_replacement_policy heap foo", ERROR },
    { "cache_replacement_policy clock", ERROR },
    { "cache_replacement_policy", ERROR },
    { "debug_options ALL,1 33,2 rotate=1", FINE },
    { "debug_options 33", ERROR },
    { "debug_options x,2", ERROR },
    { "dns_nameservers 127.0.0.1 ::1", FINE },
    { "dns_nameservers localhost", ERROR },
    { "dns_defnames on", FINE },
    { "dns_defnames corp.test", ERROR },
    { "dns_packet_max none", FINE },
    { "dns_packet_max 1232 bytes", FINE },
    { "dns_packet_max 1232", WARNED },
    { "dns_packet_max 100 bytes", ERROR },
    { "dns_packet_max large", ERROR },
    { "cachemgr_passwd secret info", FINE },
    { "cachemgr_passwd secret", ERROR },
    { "logfile_rotate -1", ERROR },
    { "configuration_includes_quoted_values on", FINE },
    { "configuration_includes_quoted_values maybe", ERROR },
    { "no_cache deny all", FINE },
    { "pconn_timeout 1 minute", FINE },
    { "max_filedesc 4096", FINE },
    { "pid_filename \"\"", ERROR },
    /* http_port */
    { "http_port 8080", FINE },
    { "http_port 127.0.0.2:8080", FINE },
    { "http_port [::1]:8080", FINE },
    { "http_port ::1:8080", ERROR },
    { "http_port 0", ERROR },
    { "http_port 65536", ERROR },
    { "http_port x", ERROR },
    { "http_port no.such.name.invalid:8080", ERROR },
    { "http_port 127.0.0.1:3128", ERROR },
    { "http_port 80 accel defaultsite=a.example vhost vport=80 allow-direct ignore-cc", FINE },
    { "http_port 80 accel no-vhost vport", FINE },
    { "http_port 80 defaultsite=a.example", ERROR },
    { "http_port 80 name=x tcpkeepalive disable-pmtu-discovery=off connection-auth=off", FINE },
    { "http_port 80 tcpkeepalive=30,5,3", FINE },
    { "http_port 80 tcpkeepalive=30,5,3,1", ERROR },
    { "http_port 80 intercept", ERROR },
    { "http_port 80 tproxy", ERROR },
    { "http_port 80 transparent", ERROR },
    { "http_port 80 ssl-bump cert=/x", ERROR },
    { "http_port 80 tls-cert=/x", ERROR },
    { "http_port 80 require-proxy-header", FINE },
    { "http_port 80 acel", ERROR },
    /* cache_peer */
    { "cache_peer p.example parent 3128 0", FINE },
    { "cache_peer p.example parent 3128 0 no-query no-digest no-netdb-exchange proxy-only default name=p", FINE },
    { "cache_peer p.example parent 3128 3130 no-query", FINE },
    { "cache_peer p.example parent 3128 3130", ERROR },
    { "cache_peer p.example parent 3128 0 round-robin weight=2", FINE },
    { "cache_peer p.example parent 3128 0 max-conn=9", FINE },
    { "cache_peer p.example parent 3128 0 login=PASS", FINE },
    { "pconn_lifetime 0", FINE },
    { "pconn_lifetime 1 hour", FINE },
    { "pconn_lifetime -1", ERROR },
    { "pipeline_prefetch 1000", FINE },
    { "pipeline_prefetch on", FINE },
    { "pipeline_prefetch 1001", ERROR },
    { "pipeline_prefetch -1", ERROR },
    { "pipeline_prefetch yes", ERROR },
    { "connect_retries 10", FINE },
    { "connect_retries 11", ERROR },
    { "retry_on_error on", FINE },
    { "retry_on_error 503", ERROR },
    { "happy_eyeballs_connect_gap 10", FINE },
    { "happy_eyeballs_connect_gap -1", FINE },
    { "happy_eyeballs_connect_gap -2", ERROR },
    { "happy_eyeballs_connect_limit 0", FINE },
    { "happy_eyeballs_connect_limit x", ERROR },
    { "tcp_recv_bufsize 64 KB", FINE },
    { "tcp_recv_bufsize 2 GB", ERROR },
    { "server_pconn_for_nonretriable allow all", FINE },
    { "server_pconn_for_nonretriable all", ERROR },
    { "force_request_body_continuation allow all", FINE },
    { "force_request_body_continuation on", ERROR },
    { "cache_peer p.example parent 3128 0 connect-timeout=5 connect-fail-limit=3", FINE },
    { "cache_peer p.example parent 80 0 originserver login=PASSTHRU", FINE },
    { "cache_peer p.example parent 80 0 login=u:p", FINE },
    { "cache_peer p.example parent 80 0 login=NEGOTIATE", ERROR },
    { "cache_peer p.example parent 80 0 login=u", ERROR },
    { "cache_peer p.example sibling 3128 0", ERROR },
    { "cache_peer p.example parrent 3128 0", ERROR },
    { "cache_peer p.example parent 0 0", ERROR },
    { "cache_peer p.example parent 3128", ERROR },
    { "cache_peer p.example parent 443 0 tls", ERROR },
    { "cache_peer p.example parent 443 0 ssl sslflags=DONT_VERIFY_PEER", ERROR },
    { "cache_peer p.example parent 3128 0 carp", FINE },
    { "cache_peer p.example parent 3128 0 userhash", FINE },
    { "cache_peer p.example parent 3128 0 sourcehash weight=3 standby=2 max-conn=5 connect-fail-limit=3", FINE },
    { "cache_peer p.example parent 3128 0 carp carp-key=host,path", FINE },
    { "cache_peer p.example parent 3128 0 carp carp-key=", ERROR },
    { "cache_peer p.example parent 3128 0 carp userhash", ERROR },
    { "cache_peer p.example parent 3128 0 standby=5 max-conn=2", ERROR },
    { "cache_peer p.example parent 3128 0 login=*:secret", FINE },
    { "cache_peer p.example parent 3128 0 weighted-round-robin", FINE },
    { "dead_peer_timeout 0 seconds", ERROR },
    { "cache_peer p.example parent 3128 0 weight=0", ERROR },
    { "cache_peer p.example parent 3128 0 no-qery", ERROR },
    { "cache_peer_access q allow all", ERROR },
    /* refresh_pattern */
    { "refresh_pattern . 0 20% 4320", FINE },
    { "refresh_pattern -i \\.png$ 10 20 4320 override-expire ignore-reload max-stale=60", FINE },
    { "refresh_pattern . 0 20% 4320 ignore-no-cache", WARNED },
    { "refresh_pattern . 0 20% 4320 overide-expire", ERROR },
    { "refresh_pattern ( 0 20% 4320", ERROR },
    { "refresh_pattern . 0 20%", ERROR },
    { "refresh_pattern . x 20% 4320", ERROR },
    { "refresh_pattern . 0 x 4320", ERROR },
    { "refresh_pattern . 0 20% -1", ERROR },
    /* logs */
    { "access_log none", FINE },
    { "access_log none all", FINE },
    { "access_log /tmp/x", FINE },
    { "access_log /tmp/x squid", FINE },
    { "access_log /tmp/x common localhost", FINE },
    { "access_log stdio:/tmp/x localhost", FINE },
    { "access_log daemon:/tmp/x logformat=common on-error=die buffer-size=64KB localhost", FINE },
    { "access_log stdio:/tmp/x rotate=3", WARNED },
    { "access_log stdio:/tmp/x logformat=comon", ERROR },
    { "access_log stdio:/tmp/x nosuch", ERROR },
    { "access_log stdio:tmp/x", ERROR },
    { "access_log syslog:daemon.info", ERROR },
    { "access_log udp://127.0.0.1:514", ERROR },
    { "access_log tcp://127.0.0.1:514", ERROR },
    { "access_log stdo:/tmp/x", ERROR },
    { "cache_access_log /tmp/x", FINE },
    { "logformat x %ts \"%ru", FINE },
    { "logformat x", ERROR },
    { "logformat squid %ts", ERROR },
    { "logformat x %!", ERROR },
    /* access lists */
    { "acl x src 127.0.0.1", FINE },
    { "acl x", ERROR },
    { "acl x nosuchtype y", ERROR },
    { "acl x src \"/nonexistent/list\"", ERROR },
    { "http_access allow localhost", FINE },
    { "http_access allow nosuch", ERROR },
    { "http_access permit all", ERROR },
    { "http_access", ERROR },
    { "include /nonexistent", ERROR },
};

static void lines_get_their_verdict(void **state)
{
    static const char *const verdicts[] = { "fine", "warned about", "an error" };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct said said;
        char *text = xasprintf("http_port 127.0.0.1:3128\n%s\n", lines[i].line);
        struct settings *s = read_text(&said, text);
        enum verdict got;

        free(text);
        got = said.report.errors > 0 ? ERROR : said.report.warnings > 0 ? WARNED : FINE;
        if (got != lines[i].want)
            fail_msg("'%s' is %s, should be %s: %s", lines[i].line, verdicts[got], verdicts[lines[i].want],
                     said_text(&said));
        if ((s == NULL) != (got == ERROR))
            fail_msg("'%s': settings and errors disagree", lines[i].line);
        if (got == ERROR && strncmp(said_text(&said), "t:2:", 4) != 0)
            fail_msg("'%s': not the place: %s", lines[i].line, said_text(&said));
        settings_unref(&s);
        sb_free(&said.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_squid_is_known),
        cmocka_unit_test(rows_are_complete_and_names_unique),
        cmocka_unit_test(every_default_is_good),
        cmocka_unit_test(lines_get_their_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
