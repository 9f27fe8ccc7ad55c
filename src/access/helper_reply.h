/* access/helper_reply.h: the lines that helper programs answer (Squid's helper protocol). Pure. */
#pragma once
#include "base/span.h"

enum helper_status {
    HELPER_OK,
    HELPER_ERR,
    HELPER_BH,    /* it could not decide: the program's own trouble, or ours with the program */
    HELPER_TT,    /* negotiate: another token for the client */
    HELPER_AF,    /* negotiate: the user is known */
    HELPER_NA,    /* negotiate: refused */
    HELPER_OTHER, /* none of these words: an older rewriter's bare answer */
};

#define HELPER_PAIRS_MAX 32
#define HELPER_LINE_MAX 65536 /* bytes of a question or an answer */

struct helper_pair {
    struct span name, value; /* the name as written, the value decoded */
};

struct helper_reply {
    enum helper_status status;
    struct span
        rest; /* what stood in front of the pairs, behind the status word; of HELPER_OTHER the whole line, of TT, AF, NA all
                         behind the word */
    struct helper_pair pairs[HELPER_PAIRS_MAX];
    size_t n_pairs; /* more than fit are dropped */
};

/* text: a line without its end and its channel number; it is decoded in place, and the reply points into it. Values are "quoted",
 * with \ before what it quotes, or words with %xx in them; a broken %xx stays as it is. */
void helper_reply_parse(char *text, size_t len, struct helper_reply *out);
/* The first pair of that name; SPAN_NONE: none. */
struct span helper_reply_value(const struct helper_reply *r, const char *name);
/* "CHANNEL TEXT": *at is where TEXT begins. False: it doesn't start with a number. */
bool helper_channel_parse(struct span line, unsigned *channel, size_t *at);
