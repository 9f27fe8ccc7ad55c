/* conf/directive.h: a row of the directive table, what its parsers get and give. Private to src/conf.
 *
 * Threads: one reads a configuration; the tables are constant. */
#pragma once
#include "conf/diagnose.h"
#include "conf/lex.h"
#include "conf/settings.h"

struct directive;
struct reading;

/* How a directive's words become a value and a value becomes words again. */
struct directive_kind {
    /* l has the directive's name and at least one word more. Says what is wrong itself. */
    void (*parse)(struct reading *r, const struct directive *d, const struct line *l);
    /* Lines for mgr:config, each with its end. NULL: nothing to show. */
    void (*print)(const struct settings *s, const struct directive *d, struct strbuf *out);
};

enum directive_class {
    WORKS,
    ACCEPTED, /* nothing to do, and nothing lost by that */
    LATER,    /* a warning: ignored, harmless */
    OBSOLETE, /* a warning: what to write today */
    REFUSED,  /* an error: ignoring it would open, unlimit or reroute something */
};

enum directive_flags {
    REPEATS = 1,          /* lines add up; without it the last one counts, and a second one gets a warning */
    ALLOWS = 2,           /* an access list that allows when it has no lines */
    RAW = 4,              /* reads the line as written: quotes needn't match */
    UNIT_KB = 8,          /* a bare number counts kilobytes */
    UNIT_MS = 16,         /* a bare number counts milliseconds */
    MAY_BE_NEGATIVE = 32, /* -1 is a value */
    NONE_IS_NULL = 64,    /* the word none is no string at all */
    ZERO_IS_NONE = 128,   /* no limit */
    MAY_BE_SWITCH = 256,  /* on and off are 1 and 0 */
};

struct directive {
    const char *name;
    const struct directive_kind *kind; /* WORKS only */
    size_t at;                         /* offset in struct settings */
    const char *preset;  /* the default as text, parsed like a line of the file; NULL: what zeroed memory means */
    const char *meaning; /* for squid.conf.default and the manual; lines end in \n, but the last */
    unsigned flags;      /* enum directive_flags */
    int64_t low, high;   /* bounds of a number; high 0: none */
    enum directive_class class;
    const char *harmless; /* LATER, REFUSED: values about which nothing is said, `|` between them; * is any word, a last
                             one any words */
    const char *instead;  /* LATER, OBSOLETE, REFUSED: the end of the message; NULL: nothing to add */
    const char *aliases;  /* older names, blanks between them; NULL: none */
};

/* All rows: those that work first, in mgr:config's order. NULL past the end. */
const struct directive *directive_at(size_t i);
/* The index of the row with this name, today's or an older one; -1: none. */
int directive_find(struct span name);
/* Every name, NULL-terminated, for "did you mean". */
const char *const *directive_names(void);
size_t directive_count(void);

/* The rows that work (directives.c) and the rest (ignored.c); each ends with a row without a name. */
extern const struct directive directives_working[], directives_ignored[];

/* One reading of a configuration. */
struct reading {
    struct settings *s;
    const struct conf_hooks *hooks;
    struct conf_report *report;
    const struct lexer *lexer;                /* of the line in hand */
    bool closed;                              /* from text: opens no file, resolves no name */
    bool quoted_values;                       /* configuration_includes_quoted_values */
    struct place auth_file_at[AUTH_SCHEME_N]; /* auth_param's `file`: the path */
    struct place users_at;                    /* what asks for users first; file NULL: nothing */
    unsigned depth;                           /* of include */
    struct place *deny_info_at;               /* per deny_info of the settings, its page: looked for when all is read */
    size_t n_deny_info_at;
    struct place *said; /* per directive, where it was said first; file NULL: not yet */
    char **kept;        /* file names and list files, for as long as the reading lasts */
    size_t n_kept, kept_capacity;
};

/* Takes over p, to be freed when the reading ends. */
char *reading_keep(struct reading *r, char *p);
/* A whole file, the reading's to free. NULL with *why static or strerror's. */
char *reading_load(struct reading *r, const char *path, size_t *len, const char **why);

/* "FILE:LINE" of a word; the caller frees. */
char *place_text(struct place at);

/* Appends a zeroed element to an ARRAY_OF() and returns it. */
#define ARRAY_PUSH(array, n)                                                                                           \
    (array = xrealloc(array, ((n) + 1) * sizeof *(array)), memset(&(array)[n], 0, sizeof *(array)), &(array)[(n)++])

/* kind.c */
extern const struct directive_kind kind_size, kind_signed_size, kind_duration, kind_count, kind_count64, kind_percent,
    kind_switch, kind_tristate, kind_string, kind_text, kind_field_names, kind_eviction, kind_eviction_judged,
    kind_forwarded_for, kind_relaxed, kind_debug_options, kind_nameservers, kind_quoted_values;
/* kind_access.c */
extern const struct directive_kind kind_acl, kind_access, kind_cachemgr;
/* kind_port.c, kind_peer.c, kind_refresh.c, kind_log.c, kind_upgrade.c, kind_size_limit.c, kind_error_page.c,
 * kind_note.c, kind_header.c, kind_helper.c, kind_external.c */
extern const struct directive_kind kind_port, kind_peer, kind_peer_access, kind_refresh, kind_access_log,
    kind_logformat, kind_note, kind_upgrade, kind_size_limit, kind_deny_info, kind_header_access, kind_header_replace,
    kind_header_add, kind_program, kind_children, kind_rewrite_timeout, kind_external, kind_delay_pools,
    kind_delay_class, kind_delay_parameters, kind_client_delay_parameters, kind_delay_access, kind_response_delay,
    kind_response_delay_access;

/* kind_affinity.c */
extern const struct directive_kind kind_affinity;
/* kind_outgoing.c */
extern const struct directive_kind kind_outgoing;
/* kind_uri_whitespace.c */
extern const struct directive_kind kind_uri_whitespace;
/* kind_mask.c */
extern const struct directive_kind kind_netmask, kind_umask;

/* kind_auth.c */
extern const struct directive_kind kind_auth_param;
/* kind_auth_schemes.c */
extern const struct directive_kind kind_auth_schemes;
/* Once all is read: password files, and whether ACLs ask for users that nobody can check. */
void auth_complete(struct reading *r);
/* Is it an acl type that needs a user? */
bool auth_is_asked_for(struct span acl_type);

/* Adds `allow|deny acl...` from word `first` on to a list; implied: a word put before them, or NULL (kind_access.c). */
void access_add_words(struct reading *r, struct access_list *list, const struct line *l, size_t first,
                      const char *implied);

/* The path and arguments of a program from word `first` on; there is one at least (kind_helper.c). */
void program_add_words(struct reading *r, struct program_setting *p, const struct line *l, size_t first);
/* One of max=, startup=, idle= (behind that prefix), concurrency=, queue-size=, on-persistent-overload=. False: none of them. */
bool program_option(struct reading *r, struct program_setting *p, const struct word *w, const char *prefix);
/* name: for messages, copied. timeout: microseconds. */
struct helper_pool *program_pool(const struct program_setting *p, const char *name, int64_t timeout);
/* Its words and its pool (settings.c). */
void program_free(struct program_setting *p);
/* Once all is read: the rewriters' pools. */
void rewriters_complete(struct reading *r);
/* Likewise the delay pools (kind_delay.c). */
void delays_complete(struct reading *r);
/* Likewise what applies to all refresh_pattern lines (kind_refresh.c). */
void refresh_complete(struct reading *r);
/* Likewise what the peers of a group are to each other (kind_peer.c). */
void peers_complete(struct reading *r);
/* Likewise those of external_acl_type (kind_external.c). */
void externals_complete(struct reading *r);
/* NUMBER [UNIT] from word 1 on: how many words; 0 after an error that was told (kind.c). */
size_t duration_words(struct reading *r, const struct line *l, int64_t *us);

/* Once all is read: the files of error_directory, deny_info and err_page_stylesheet (kind_error_page.c). */
void error_pages_load(struct reading *r);

/* A port in decimal, 1-65535. */
bool port_number(struct span text, uint16_t *out);
/* "key=value" with this key; *value is what follows. */
bool option_is(struct span word, const char *key, struct span *value);
/* Too few or too many words: says so and returns false. max counts the words after the name. */
bool words_between(struct reading *r, const struct line *l, size_t min, size_t max);
