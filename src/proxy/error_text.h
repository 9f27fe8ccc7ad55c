/* proxy/error_text.h: anybody's bytes made harmless for the places error pages put them (hostile-inputs M03, M05). Pure. */
#pragma once
#include "base/strbuf.h"

/* What is shown of a URL or a method; the rest says nothing to a reader. Bytes. */
#define ERROR_SHOWN_MAX 1024

/* Between tags or in a quoted attribute. Controls and bytes beyond ASCII become '?': nobody vouches for their being UTF-8. */
void error_add_html(struct strbuf *out, struct span s);
/* Inside a JSON string. <, > and & too, so that the text stays harmless if somebody sniffs HTML in it; a byte beyond ASCII is U+FFFD. */
void error_add_json(struct strbuf *out, struct span s);
/* A part of a URL: all but unreserved characters (RFC 3986 section 2.3) percent-encoded, so that it is one argument. */
void error_add_url(struct strbuf *out, struct span s);
/* A URL as people may see it: no query and no userinfo (credentials), printable ASCII only, cut when long. */
void error_add_shown_url(struct strbuf *out, struct span url);
