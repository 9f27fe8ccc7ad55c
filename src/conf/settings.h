/* conf/settings.h: a configuration, read: plain data, read-only once workers use it, refcounted. A reload builds
 * another one and swaps; a transaction keeps the one it started with. Durations in microseconds, sizes in bytes.
 *
 * Threads: built by one; then read by any. settings_ref/unref from any. */
#pragma once
#include <stdatomic.h>
#include "access/access_list.h"
#include "access/auth_settings.h"
#include "access/external.h"
#include "access/helper.h"
#include "access/regex_set.h"
#include "base/strbuf.h"
#include "cache/freshness.h"
#include "cache/store.h"
#include "conf/header_rules.h"
#include "net/addr.h"
#include "net/delay_pool.h"
#include "net/server_health.h"

struct port_setting { /* http_port */
    struct addr at;
    char *name; /* name=, or the address as written */
    bool accel, vhost, ignore_cc, allow_direct, require_proxy;
    char *defaultsite; /* NULL: none */
    int vport;         /* vport=N; 0: none */
    bool tcp_keepalive;
    int keepalive_idle, keepalive_interval, keepalive_timeout; /* seconds; 0: kernel's */
};

/* What of a URL chooses a carp peer (carp-key=). */
enum carp_part { CARP_SCHEME = 1, CARP_HOST = 2, CARP_PORT = 4, CARP_PATH = 8, CARP_PARAMS = 16 };

/* Who is chosen among several peers, by what: turns, the URL, the user, the client's address. */
enum peer_group { PEER_ALONE, PEER_ROUND_ROBIN, PEER_CARP, PEER_USERHASH, PEER_SOURCEHASH, PEER_GROUPS };
extern const char *const peer_group_names[PEER_GROUPS]; /* the options of cache_peer; NULL: PEER_ALONE */

struct peer_setting { /* cache_peer */
    char *name, *host;
    uint16_t port;
    enum peer_group group;
    bool originserver, is_default, proxy_only, no_query;
    bool passes_login; /* login=PASS, PASSTHRU: what the client sent for its proxy */
    int weight;
    unsigned carp_key;          /* enum carp_part */
    uint32_t member_hash;       /* of its name, for groups that choose by a hash */
    double multiplier;          /* by its weight in its group */
    int max_conn;               /* connections to it, those that rest included; 0: any number */
    int fail_limit, standby;    /* failures that make it dead; connections kept ready */
    int64_t connect_timeout;    /* 0: peer_connect_timeout */
    char *login;                /* user:password, or *:password with the user's name; NULL: none */
    struct access_list *access; /* cache_peer_access; NULL: allow */
    struct server_health *health;
};

struct refresh_setting { /* refresh_pattern */
    char *pattern;
    bool ignore_case;
    struct regex_set *regex; /* NULL: matches everything (".") */
    struct refresh_rule rule;
};

struct log_setting {         /* access_log */
    char *module;            /* "stdio", "daemon" ...; "none" */
    char *place;             /* a path */
    char *format_name;       /* "squid", or a logformat's */
    void *format;            /* the logformat_setting's of this name, which owns it; NULL for module none */
    struct access_list *acl; /* NULL: everything */
    bool on_error_die;
};

struct logformat_setting {
    char *name, *spec;
    void *format; /* compiled by conf_hooks.logformat_compile; freed by logformat_free */
    bool builtin; /* not from the file: a built-in one that an access_log asked for */
};

struct upgrade_setting {        /* http_upgrade_request_protocols */
    char *protocol;             /* "websocket", "proto/1"; "OTHER": those without lines of their own */
    struct access_list *access; /* never NULL */
};

struct auth_offer_setting { /* auth_schemes */
    char *written;          /* the schemes */
    struct auth_offer offer;
    struct access_list *when; /* NULL: always */
};

struct note_setting { /* note */
    char *name, *value;
    struct access_list *when; /* NULL: always */
};

struct affinity_setting { /* cpu_affinity_map */
    int process, core;    /* from 1: the first worker, the first processor */
};

struct outgoing_setting { /* tcp_outgoing_address: the first of the destination's family whose ACLs hold counts */
    struct addr from;
    struct access_list *when; /* NULL: always */
};

struct size_limit {           /* reply_body_max_size, range_offset_limit: the first line whose ACLs hold counts */
    int64_t max;              /* bytes; -1: none */
    char *where;              /* FILE:LINE */
    struct access_list *when; /* NULL: always */
};

struct size_limits {
    struct size_limit *p;
    size_t n;
};

struct page_template;
struct error_page_setting { /* a file of error_directory, or one that deny_info names */
    char *name;             /* "ERR_ACCESS_DENIED" */
    struct page_template *page;
};

enum deny_kind { DENY_PAGE, DENY_REDIRECT, DENY_RESET };
struct deny_info {
    const struct acl *acl; /* the last one of the access line that denied */
    enum deny_kind kind;
    int status;                 /* 0: the page's own */
    char *name;                 /* DENY_PAGE: built in, or of error_pages */
    struct page_template *page; /* DENY_REDIRECT: the address */
    char *written, *where;      /* as in the file; FILE:LINE */
};

struct program_setting {                            /* a helper program, and how many of it run */
    char *written;                                  /* the words as in the file; NULL: none */
    char **argv;                                    /* NULL-terminated; NULL: none */
    int max, startup, idle, concurrency, queue_max; /* queue_max -1: twice max */
    struct helper_pool *pool;                       /* NULL: none */
};
static inline int program_queue_max(const struct program_setting *p)
{
    return p->queue_max >= 0 ? p->queue_max : 2 * p->max;
}

enum on_timeout { ON_TIMEOUT_FAIL, ON_TIMEOUT_BYPASS, ON_TIMEOUT_RETRY, ON_TIMEOUT_RESPONSE };
struct rewrite_timeout { /* url_rewrite_timeout */
    int64_t time;        /* 0: helper_timeout */
    enum on_timeout action;
    char *response; /* ON_TIMEOUT_RESPONSE: taken for the program's answer */
};

struct rewrite_setting { /* url_rewrite_program, store_id_program */
    struct program_setting program;
    struct access_list *access;
    bool bypass;
    char *extras;        /* what follows the URL in a question, with logformat codes; NULL: nothing */
    void *extras_format; /* compiled */
};

#define ARRAY_OF(type, name)                                                                                           \
    type *name;                                                                                                        \
    size_t n_##name

struct delay_setting { /* a delay pool, client delay pool, or response_delay_pool */
    char *name;        /* response_delay_pool's; NULL: it has a number */
    int class;         /* delay_class; 0: none said, or none has */
    bool works;        /* its rates are there */
    struct delay_config config;
    struct access_list *access;
    struct delay_pool *pool; /* NULL: it doesn't work */
};

struct delay_settings {
    ARRAY_OF(struct delay_setting, pools);
};

struct external_setting { /* external_acl_type */
    struct external_acl *acl;
    struct program_setting program;
};

struct cachemgr_setting { /* cachemgr_passwd */
    char *password;       /* "none", "disable" or the word */
    char **actions;
    size_t n_actions;
};

enum forwarded_for {
    FORWARDED_FOR_ON,
    FORWARDED_FOR_OFF,
    FORWARDED_FOR_TRANSPARENT,
    FORWARDED_FOR_TRUNCATE,
    FORWARDED_FOR_DELETE
};
enum uri_whitespace { URI_WHITESPACE_DENY, URI_WHITESPACE_STRIP, URI_WHITESPACE_ENCODE, URI_WHITESPACE_CHOP };
enum tristate { TRI_UNSET, TRI_OFF, TRI_ON };

/* The most that range_parts_max may be. */
#define RANGE_PARTS_MOST 256

struct settings {
    atomic_uint refs;
    char *file;                           /* where it was read from */
    void (*logformat_free)(void *format); /* conf_hooks' */
    struct acl_set *acls;

    ARRAY_OF(struct port_setting, ports);
    ARRAY_OF(struct peer_setting, peers);
    ARRAY_OF(struct refresh_setting, refresh);
    ARRAY_OF(struct log_setting, logs);
    ARRAY_OF(struct logformat_setting, logformats);
    ARRAY_OF(struct cachemgr_setting, cachemgr);
    ARRAY_OF(struct upgrade_setting, upgrades);
    struct size_limits reply_limits, range_offset_limits;
    ARRAY_OF(struct error_page_setting, error_pages);
    ARRAY_OF(struct deny_info, deny_infos);
    ARRAY_OF(struct note_setting, notes);
    ARRAY_OF(struct external_setting, externals);
    ARRAY_OF(struct auth_offer_setting, auth_offers);
    ARRAY_OF(struct outgoing_setting, outgoing);
    ARRAY_OF(struct addr, nameservers);
    ARRAY_OF(struct affinity_setting, affinities);

    struct access_list *http_access, *http_reply_access, *cache, *store_miss, *send_hit, *always_direct, *never_direct,
        *proxy_protocol_access, *follow_x_forwarded_for, *adapted_http_access, *miss_access,
        *collapsed_forwarding_access, *server_pconn_for_nonretriable, *force_request_body_continuation;

    struct auth_settings auth;
    struct program_setting auth_programs[AUTH_SCHEME_N]; /* auth_param's program and children */
    struct header_rules request_headers, reply_headers;

    struct delay_settings delays, client_delays, response_delays;
    int delay_initial, client_delay_initial; /* percent */
    int delay_buckets_max;
    bool delay_pool_uses_indirect_client;

    struct rewrite_setting url_rewrite, store_id;
    struct rewrite_timeout url_rewrite_timeout;
    bool url_rewrite_host_header;
    int64_t helper_timeout;

    /* process */
    int workers;        /* 0: one per online CPU */
    char *pid_filename; /* "none": none */
    char *cache_log;
    char *coredump_dir;                     /* "none" or NULL: none */
    char *effective_user, *effective_group; /* group NULL: the user's */
    char *visible_hostname;                 /* never NULL: the host's name when not set */
    char *unique_hostname;                  /* in Via; NULL: visible_hostname */
    char *hostname_aliases;                 /* other names of this proxy, blanks between them; NULL: none */
    char *cache_mgr;                        /* who to write to */
    char *error_directory;                  /* NULL: none */
    char *err_page_stylesheet, *stylesheet; /* its path and its text; NULL: none */
    char *err_html_text;                    /* HTML; NULL: none */
    bool email_err_data;
    struct addr_cut client_netmask; /* of clients' addresses in logs */
    unsigned umask;
    int64_t shutdown_lifetime;
    int logfile_rotate;
    int debug_level;
    int64_t high_response_time_warning; /* the median's; 0: no warning, as for the next two */
    int high_page_fault_warning;        /* a second */
    uint64_t high_memory_warning;
    uint64_t max_filedescriptors; /* 0: as the kernel says */

    /* cache */
    uint64_t cache_mem, maximum_object_size, maximum_object_size_in_memory, minimum_object_size;
    enum eviction_policy eviction;
    bool collapsed_forwarding, store_set_cookie, offline_mode, refresh_all_ims, cache_miss_revalidate,
        vary_ignore_expire;
    bool refresh_ignores_reload, refresh_ims; /* some refresh_pattern says so */
    int64_t negative_ttl, minimum_expiry_time, max_stale;
    int64_t quick_abort_min, quick_abort_max; /* bytes; min -1: always finish */
    int quick_abort_pct;
    int64_t read_ahead_gap;
    char *cache_control_targets; /* field names, blanks between them; NULL: none */

    /* protocol */
    bool x_cache, cache_status, x_access_line;
    bool check_hostnames, allow_underscore, host_verify_strict;
    enum uri_whitespace uri_whitespace;
    bool acl_uses_indirect_client, log_uses_indirect_client;
    bool client_db;
    bool via, strip_query_terms, httpd_suppress_version_string, log_mime_hdrs, relaxed_header_parser;
    enum forwarded_for forwarded_for;
    uint64_t request_header_max_size, reply_header_max_size;
    uint64_t request_body_max_size, client_request_buffer_max_size; /* 0: no limit */
    int header_fields_max, vary_variants_max, range_parts_max, interim_responses_max, pipeline_prefetch;
    uint64_t chunk_extension_max;
    bool client_persistent_connections, server_persistent_connections, persistent_connection_after_error;
    bool request_entities;
    enum tristate half_closed_clients;
    int forward_max_tries, connect_retries;
    bool retry_on_error;
    bool prefer_direct, nonhierarchical_direct;
    int64_t dead_peer_timeout;

    /* waits */
    int64_t connect_timeout, peer_connect_timeout, forward_timeout, read_timeout, write_timeout, request_timeout,
        request_start_timeout, client_idle_pconn_timeout, server_idle_pconn_timeout, client_lifetime,
        happy_eyeballs_connect_timeout, expect_continue_timeout, pconn_lifetime; /* pconn_lifetime 0: any age */
    int happy_eyeballs_connect_gap, happy_eyeballs_connect_limit;                /* milliseconds, count; -1: none */
    uint64_t tcp_recv_bufsize;                                                   /* 0: the kernel's */

    /* names */
    char *hosts_file, *append_domain;
    bool dns_defnames;
    int64_t dns_packet_max; /* bytes; -1: no EDNS */
    int64_t dns_timeout, dns_retransmit_interval, positive_dns_ttl, negative_dns_ttl;
    int client_ip_max_connections; /* -1: any number */
    int ipcache_size, fqdncache_size;
};

/* The name in Via by which this proxy knows its own requests again. */
static inline const char *settings_unique_name(const struct settings *s)
{
    return s->unique_hostname != NULL ? s->unique_hostname : s->visible_hostname;
}
/* Is it one of this proxy's names in URLs, visible_hostname or one of hostname_aliases? */
bool settings_is_own_name(const struct settings *s, struct span host);

struct settings *settings_ref(struct settings *s);
void settings_unref(struct settings **holder);

/* What conf can't know, handed in from above. */
struct conf_hooks {
    /* Compiles a logformat; NULL: error (capacity 160) says what, *at the offset in spec. */
    void *(*logformat_compile)(const char *spec, char error[160], size_t *at);
    void (*logformat_free)(void *format);
    /* The spec of a built-in format; NULL: there is none of that name. */
    const char *(*logformat_builtin)(struct span name);
    /* Is there a built-in error page of that name? */
    bool (*error_page_is_known)(struct span name);
};

/* Runs its helper programs' pools on that host. Once, before any worker uses s. */
void settings_start_helpers(struct settings *s, struct helpers *host);

/* What deny_info says of a refusal whose line ended with this ACL. NULL: nothing. */
const struct deny_info *settings_deny_info(const struct settings *s, const struct acl *last);
/* The operator's page of this name. NULL: none. */
const struct page_template *settings_error_page(const struct settings *s, const char *name);

/* Where problems go. */
struct conf_report {
    unsigned errors, warnings;
    /* Called for each. `text` is complete, printable and without a line end:
     * "FILE:LINE:COLUMN: error: what is wrong (did you mean 'x'?)". NULL: they are only counted. */
    void (*say)(struct conf_report *r, bool is_error, const char *text);
    void *user;
    /* While say runs: where the problem is, as in text; line and column 0: no line, no column. */
    const char *file;
    unsigned line, column;
};

/* Reads a file and all it includes; reports everything wrong, not just the first thing. NULL when there was an error.
 * hooks may be NULL, and so may their members: formats then stay uncompiled. They outlive the settings. */
struct settings *settings_read(const char *path, const struct conf_hooks *hooks, struct conf_report *report);
/* The same from text (the embedded default); name stands for the file in messages. Opens no other file:
 * `include` and list files are errors, and so are names in http_port (names in ACLs are resolved by src/access). */
struct settings *settings_read_text(const char *name, struct span text, const struct conf_hooks *hooks,
                                    struct conf_report *report);
/* squid.conf.default, printed from the directive table: each directive's meaning as comments, its default commented
 * out, then the recommended minimum that is in force. The same under every prefix. */
void settings_print_default(struct strbuf *out);
/* mgr:config: every directive with its value in force, in table order, Squid's units. Passwords are not shown. */
void settings_print(const struct settings *s, struct strbuf *out);
/* The refresh rule for a canonical URL. Never NULL (built-in `. 0 20% 4320`). */
const struct refresh_rule *settings_refresh_rule(const struct settings *s, struct span url);
/* The compiled-in minimum configuration that `./run` uses without -f; the text itself. */
struct span settings_embedded(void);
