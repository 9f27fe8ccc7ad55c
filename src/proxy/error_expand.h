/* proxy/error_expand.h: an operator's template made into a page, or into the address of a redirection. Pure. */
#pragma once
#include "conf/page_template.h"
#include "proxy/error_page.h"

/* Values are escaped for HTML. name: the page's. */
void error_expand_page(const struct page_template *t, const struct error_context *c, const char *name,
                       struct strbuf *out);
/* Values are percent-encoded: whatever a client sent stays inside its place. */
void error_expand_url(const struct page_template *t, const struct error_context *c, const char *name,
                      struct strbuf *out);
