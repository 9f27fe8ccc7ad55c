/* conf/page_template.h: an operator's error page, or the address a denied request is sent to: text with %codes, taken apart
 * once when it is read (error_directory, deny_info, err_page_stylesheet).
 *
 * Threads: built by one; then read by any. */
#pragma once
#include "base/span.h"

struct page_piece {
    struct span text; /* goes out as it is; then */
    char code;        /* what this letter stands for (proxy/error_expand.c); 0: nothing */
};

struct page_template {
    size_t n;
    char *text; /* what the pieces point into */
    struct page_piece pieces[];
};

/* A copy of text. %% is a percent sign; a % that no known letter follows is one too, for "100 % sure" breaks no page. */
struct page_template *page_template_new(struct span text);
void page_template_free(struct page_template **holder);
