/* conf/lex.h: squid.conf text to lines of words. Private to src/conf. Pure: opens nothing, so it can be fuzzed.
 *
 * A line ends at LF or CR LF; a backslash before the end joins it with the next. `#` begins a comment where a physical
 * line begins or after a blank; a comment never goes on to the next line, so that no rule is swallowed by one that ends
 * in a backslash. A word in double quotes may hold blanks; \" and \\ stand for " and \ there. ${process_number},
 * ${process_name}, ${service_name} and the build's ${logdir}, ${rundir}, ${sysconfdir}, ${statedir} are replaced in
 * words, not in the raw text. */
#pragma once
#include "base/span.h"
#include "base/strbuf.h"
#include "conf/diagnose.h"

struct word {
    struct span text; /* without quotes; valid until the next lexer_next() */
    struct place at;
    bool quoted;             /* was one "..." as a whole */
    bool open_quote;         /* began with a quote nothing closed; text is the rest of the line as written */
    size_t raw_from, raw_to; /* in line.raw, quotes included */
};

struct line {
    struct word *words; /* at least one */
    size_t n;
    struct span raw; /* joined, without comment */
};

struct raw_run { /* where a stretch of raw came from */
    size_t raw_from;
    unsigned line, column;
};

struct lexer {
    const char *file;
    struct span text;
    size_t at;
    unsigned line, column; /* of text.p[at] */
    struct line out;
    size_t words_capacity;
    struct strbuf raw;
    struct raw_run *runs;
    size_t n_runs, runs_capacity;
    char **owned; /* words that aren't slices of raw */
    size_t n_owned, owned_capacity;
};

/* file and text outlive the lexer. */
void lexer_init(struct lexer *x, const char *file, struct span text);
void lexer_free(struct lexer *x);
/* The next line that has words; NULL at the end. It stays valid until the next call. */
const struct line *lexer_next(struct lexer *x);
/* Where offset bytes into line.raw stand in the file. */
struct place lexer_place(const struct lexer *x, size_t raw_offset);
/* The text as written from word `first` to the end of the line, blanks in between kept. */
struct span line_rest(const struct line *l, size_t first);

/* One value of a list file ("/path" in an acl): a line each, blanks around it dropped, `#` as above. *at moves on;
 * false at the end. line and column are those of the value. */
struct list_file {
    struct span text;
    size_t at;
    unsigned line, column;
};
bool list_file_next(struct list_file *f, struct span *value);
