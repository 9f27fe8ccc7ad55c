/* proxy/error_accept.h: in which form a client wants an error page (RFC 9110 section 12.5.1). Pure. */
#pragma once
#include "hdrs/head.h"

/* In the order of our preference where the client has none. */
enum error_form { ERROR_HTML, ERROR_JSON, ERROR_PROBLEM_JSON, ERROR_PLAIN, ERROR_FORM_N };

/* HTML unless Accept weighs another form higher; NULL, no Accept, or nothing we have: HTML. */
enum error_form error_form_wanted(const struct head *request);
