"""Every directive that does something, and the test that sees what its value does: a new one needs an entry, an entry a test.

UNSEEN are those whose effect no test sees yet: the list may only shrink. What loads without an effect (accepted, later,
obsolete, refused) is test_config.py's."""
import ast
import os
import re

from proxy import TREE

EFFECTS = {
    'umask': 'test_privacy.py::test_the_mode_of_new_files',
    'client_netmask': 'test_privacy.py::test_logs_show_networks',
    'check_hostnames': 'test_names_of_hosts.py::test_host_names',
    'allow_underscore': 'test_names_of_hosts.py::test_host_names',
    'unique_hostname': 'test_names_of_hosts.py::test_the_name_in_via',
    'hostname_aliases': 'test_names_of_hosts.py::test_other_names_of_the_proxy',
    'delay_pools': 'test_delay.py::test_misses_are_limited_and_hits_are_not',
    'delay_class': 'test_delay.py::test_classes',
    'delay_parameters': 'test_delay.py::test_classes',
    'delay_access': 'test_delay.py::test_who_is_not_in_the_pool',
    'delay_initial_bucket_level': 'test_delay.py::test_initial_level',
    'delay_pool_uses_indirect_client': 'test_delay.py::test_indirect_clients',
    'delay_buckets_max': 'test_delay.py::test_the_longest_unused_are_forgotten',
    'client_delay_pools': 'test_delay.py::test_what_clients_are_sent',
    'client_delay_parameters': 'test_delay.py::test_what_clients_are_sent',
    'client_delay_access': 'test_delay.py::test_what_clients_are_sent',
    'client_delay_initial_bucket_level': 'test_delay.py::test_initial_level_of_clients',
    'response_delay_pool': 'test_delay.py::test_responses_by_themselves_and_together',
    'response_delay_pool_access': 'test_delay.py::test_what_clients_are_sent',
    'uri_whitespace': 'test_uri_whitespace.py::test_what_becomes_of_blanks',
    'cache_miss_revalidate': 'test_switches.py::test_conditions_of_a_miss',
    'request_entities': 'test_switches.py::test_bodies_of_get',
    'persistent_connection_after_error': 'test_switches.py::test_connections_after_errors',
    'workers': 'test_cache.py::test_a_hit_on_any_worker',
    'auth_param': 'test_auth.py::test_ncsa_auth_is_built_in',
    'auth_schemes': 'test_auth.py::test_auth_schemes_choose_what_is_offered',
    'authenticate_ip_ttl': 'test_auth.py::test_max_user_ip',
    'external_acl_type': 'test_auth_helpers.py::test_an_external_acl_about_the_user_asks_for_one',
    'acl': 'test_cache.py::test_acl_types',
    'http_access': 'test_corpus.py::test_container_egress',
    'adapted_http_access': 'test_access_steps.py::test_it_is_asked_where_nothing_rewrites',
    'http_reply_access': 'test_cache.py::test_http_reply_access',
    'miss_access': 'test_access_steps.py::test_misses_by_address_and_page',
    'proxy_protocol_access': 'test_proxied.py::test_the_local_address_is_that_of_the_balancer',
    'follow_x_forwarded_for': 'test_proxied.py::test_for_the_log_or_for_access_lists_only',
    'acl_uses_indirect_client': 'test_proxied.py::test_for_the_log_or_for_access_lists_only',
    'log_uses_indirect_client': 'test_proxied.py::test_for_the_log_or_for_access_lists_only',
    'helper_timeout': 'test_helpers.py::test_one_that_is_stuck',
    'url_rewrite_program': 'test_squid_programs.py::test_url_fake_rewrite',
    'url_rewrite_children': 'test_squid_programs.py::test_url_fake_rewrite',
    'url_rewrite_access': 'test_helpers.py::test_access',
    'url_rewrite_host_header': 'test_helpers.py::test_host_header',
    'url_rewrite_bypass': 'test_helpers.py::test_one_that_is_stuck',
    'url_rewrite_extras': 'test_helpers.py::test_extras',
    'url_rewrite_timeout': 'test_helpers.py::test_one_that_is_stuck',
    'store_id_program': 'test_helpers.py::test_store_id_bypass',
    'store_id_children': 'test_helpers.py::test_store_id_is_for_get_and_head',
    'store_id_access': 'test_helpers.py::test_store_id_access',
    'store_id_bypass': 'test_helpers.py::test_store_id_bypass',
    'http_port': 'test_corpus.py::test_multi_exit',
    'cache_peer': 'test_accel.py::test_cache_peer_access_chooses',
    'cache_peer_access': 'test_accel.py::test_cache_peer_access_chooses',
    'dead_peer_timeout': 'test_peers.py::test_a_dead_parent_is_left_alone_and_revives',
    'prefer_direct': 'test_peers.py::test_prefer_direct',
    'nonhierarchical_direct': 'test_peers.py::test_nonhierarchical_direct',
    'never_direct': 'test_corpus.py::test_corporate',
    'always_direct': 'test_corpus.py::test_corporate',
    'tcp_outgoing_address': 'test_corpus.py::test_multi_exit',
    'cache_mem': 'test_memory.py::test_memory_is_bounded',
    'maximum_object_size_in_memory': 'test_cache.py::test_maximum_object_size_in_memory',
    'memory_replacement_policy': 'test_eviction.py::test_a_reload_changes_the_policy',
    'minimum_object_size': 'test_cache.py::test_minimum_object_size',
    'maximum_object_size': 'test_corpus.py::test_apt_cache',
    'cache': 'test_cache.py::test_cache_deny',
    'send_hit': 'test_cache.py::test_send_hit_deny',
    'store_miss': 'test_cache.py::test_store_miss_deny',
    'max_stale': 'rules/test_requests.py::test_t4_within_max_stale',
    'refresh_pattern': 'test_corpus.py::test_apt_cache',
    'quick_abort_min': 'test_effects.py::test_quick_abort_pct_and_max',
    'quick_abort_max': 'test_effects.py::test_quick_abort_pct_and_max',
    'quick_abort_pct': 'test_effects.py::test_quick_abort_pct_and_max',
    'read_ahead_gap': 'test_bodies.py::test_a_slow_client_holds_the_origin_back',
    'negative_ttl': 'test_cache.py::test_negative_ttl',
    'minimum_expiry_time': 'test_effects.py::test_minimum_expiry_time',
    'cache_control_targets': 'rules/test_targeted.py::test_g1_a_list_in_order',
    'offline_mode': 'rules/test_requests.py::test_t4_offline_mode',
    'refresh_all_ims': 'test_cache.py::test_what_counts_of_a_client_s_wishes',
    'store_set_cookie': 'rules/test_storing.py::test_s17_store_set_cookie_off',
    'range_offset_limit': 'test_ranges.py::test_range_offset_limit',
    'range_parts_max': 'test_ranges.py::test_range_parts_max',
    'collapsed_forwarding': 'test_collapsed.py::test_collapsed_forwarding_off',
    'collapsed_forwarding_access': 'test_access_steps.py::test_who_waits_for_others',
    'vary_variants_max': 'rules/test_selection.py::test_v14_a_limit_of_variants',
    'logformat': 'test_config.py::test_logformat',
    'access_log': 'test_config.py::test_several_logs_and_their_acls',
    'logfile_rotate': 'test_process.py::test_logfile_rotate_is_a_bound',
    'log_mime_hdrs': 'test_auth.py::test_no_password_is_seen_anywhere',
    'strip_query_terms': 'test_corpus.py::test_logging',
    'cache_log': 'test_helpers.py::test_what_it_says_is_in_cache_log',
    'cache_effective_user': 'test_process.py::test_a_user_that_does_not_exist',
    'visible_hostname': 'rules/test_status_field.py::test_k3_syntax',
    'cache_mgr': 'test_error_pages.py::test_a_page_of_the_directory',
    'error_directory': 'test_error_pages.py::test_a_status_of_its_own',
    'deny_info': 'test_auth.py::test_deny_info_of_a_login',
    'err_page_stylesheet': 'test_error_pages.py::test_stylesheet_of_the_built_in_page',
    'err_html_text': 'test_error_pages.py::test_each_code',
    'email_err_data': 'test_error_pages.py::test_mail_data',
    'httpd_suppress_version_string': 'test_effects.py::test_httpd_suppress_version_string',
    'cachemgr_passwd': 'test_manager.py::test_passwords',
    'via': 'test_forward.py::test_via_off',
    'x_cache': 'test_cache_status.py::test_x_cache',
    'cache_status': 'rules/test_status_field.py::test_k3_syntax',
    'forwarded_for': 'test_forward.py::test_x_forwarded_for',
    'request_header_access': 'test_header_rules.py::test_a_field_is_taken_out_of_requests',
    'request_header_replace': 'test_header_rules.py::test_replace',
    'request_header_add': 'test_header_rules.py::test_add',
    'reply_header_access': 'test_header_rules.py::test_by_the_status_and_the_reply',
    'reply_header_replace': 'test_header_rules.py::test_by_the_status_and_the_reply',
    'reply_header_add': 'test_header_rules.py::test_by_the_status_and_the_reply',
    'request_header_max_size': 'test_effects.py::test_request_header_max_size',
    'reply_header_max_size': 'test_effects.py::test_reply_header_max_size',
    'header_fields_max': 'test_effects.py::test_header_fields_max',
    'interim_responses_max': 'test_intermediary.py::test_interim_responses_are_bounded',
    'request_body_max_size': 'test_bodies.py::test_request_body_max_size',
    'note': 'test_acls.py::test_annotations',
    'reply_body_max_size': 'test_limits.py::test_reply_body_of_a_hit',
    'client_persistent_connections': 'test_effects.py::test_client_persistent_connections_off',
    'server_persistent_connections': 'test_forward.py::test_server_persistent_connections_off',
    'http_upgrade_request_protocols': 'test_intermediary.py::test_http_reply_access_denies_a_switch',
    'read_timeout': 'test_effects.py::test_client_lifetime',
    'request_timeout': 'test_errors.py::test_a_client_that_does_not_finish_its_head',
    'request_start_timeout': 'test_proxied.py::test_the_header_must_come_in_time',
    'expect_continue_timeout': 'test_intermediary.py::test_an_origin_that_knows_no_100',
    'client_idle_pconn_timeout': 'test_errors.py::test_an_idle_client_is_left_to_go',
    'server_idle_pconn_timeout': 'test_effects.py::test_server_idle_pconn_timeout',
    'client_lifetime': 'test_effects.py::test_client_lifetime',
    'shutdown_lifetime': 'test_process.py::test_term_refuses_new_connections',
    'client_ip_max_connections': 'test_acls.py::test_the_limit_is_the_clients_behind_a_balancer',
    'dns_nameservers': 'test_errors.py::test_dns_answers',
    'hosts_file': 'test_corpus.py::test_agent_sandbox',
    'append_domain': 'test_effects.py::test_append_domain',
    'vary_ignore_expire': 'test_effects.py::test_vary_ignore_expire',
    'high_memory_warning': 'test_effects.py::test_high_memory_warning',
    'high_response_time_warning': '../mgr/test_high_water.c::what_is_above_its_limit_is_said',
    'high_page_fault_warning': '../mgr/test_high_water.c::what_is_above_its_limit_is_said',
    'configuration_includes_quoted_values': 'test_effects.py::test_configuration_includes_quoted_values',
    'connect_retries': 'test_origin_side.py::test_connect_retries',
    'retry_on_error': 'test_origin_side.py::test_another_address_after_an_error',
    'forward_max_tries': 'test_origin_side.py::test_forward_max_tries',
    'forward_timeout': 'test_origin_side.py::test_forward_timeout',
    'connect_timeout': 'test_origin_side.py::test_connect_timeout',
    'peer_connect_timeout': 'test_origin_side.py::test_peer_connect_timeout',
    'write_timeout': 'test_origin_side.py::test_write_timeout',
    'half_closed_clients': 'test_origin_side.py::test_half_closed_clients',
    'happy_eyeballs_connect_timeout': 'test_origin_side.py::test_happy_eyeballs',
    'happy_eyeballs_connect_limit': 'test_origin_side.py::test_happy_eyeballs',
    'happy_eyeballs_connect_gap': 'test_origin_side.py::test_happy_eyeballs_gap',
    'dns_timeout': 'test_origin_side.py::test_dns_timeout',
    'dns_retransmit_interval': 'test_origin_side.py::test_dns_retransmit_interval',
    'positive_dns_ttl': 'test_origin_side.py::test_positive_dns_ttl',
    'negative_dns_ttl': 'test_origin_side.py::test_negative_dns_ttl',
    'ipcache_size': 'test_origin_side.py::test_ipcache_size',
    'fqdncache_size': 'test_names_of_addresses.py::test_as_many_names_as_fqdncache_size',
    'server_pconn_for_nonretriable': 'test_origin_side.py::test_server_pconn_for_nonretriable',
    'force_request_body_continuation': 'test_origin_side.py::test_force_request_body_continuation',
    'pconn_lifetime': 'test_origin_side.py::test_pconn_lifetime_of_clients',
    'tcp_recv_bufsize': 'test_origin_side.py::test_tcp_recv_bufsize',
    'max_filedescriptors': 'test_origin_side.py::test_max_filedescriptors',
}

UNSEEN = set('''
    authenticate_cache_garbage_interval authenticate_ttl authenticate_cache_max store_id_extras
    pid_filename debug_options coredump_dir cache_effective_group relaxed_header_parser
    chunk_extension_max client_request_buffer_max_size
'''.split())


def directives():
    """The names of the table's rows, as the daemon is built from them."""
    with open(os.path.join(TREE, 'src/conf/directives.c'), encoding='utf-8') as f:
        return re.findall(r'^    \{ (?:\.name = )?"(\w+)"', f.read(), re.M)


def functions_in(name):
    with open(os.path.join(TREE, 'test/system', name), encoding='utf-8') as f:
        if name.endswith('.c'):  # a unit test: what a whole system can't bring about on demand
            return set(re.findall(r'^static void (\w+)\(void \*\*state\)', f.read(), re.M))
        return {n.name for n in ast.parse(f.read()).body if isinstance(n, ast.FunctionDef)}


def test_each_has_an_entry():
    names = directives()
    assert len(names) > 100, 'the table is read rightly'
    assert not set(EFFECTS) & UNSEEN, 'seen by now: take it out of UNSEEN'
    assert set(names) == set(EFFECTS) | UNSEEN


def test_each_entry_is_a_test():
    there = {file: functions_in(file) for file in {e.partition('::')[0] for e in EFFECTS.values()}}
    assert [] == [e for e in EFFECTS.values() if e.partition('::')[2] not in there[e.partition('::')[0]]]
