#include "access/auth_settings.h"

#include <stdlib.h>

static const char *const scheme_names[AUTH_SCHEME_N] = { [AUTH_BASIC] = "Basic" };

const char *auth_scheme_name(enum auth_scheme s)
{
    return scheme_names[s];
}

void auth_settings_free(struct auth_settings *s)
{
    for (int i = 0; i < AUTH_SCHEME_N; i++) {
        free(s->schemes[i].where);
        free(s->schemes[i].realm);
        free(s->schemes[i].file_path);
        htpasswd_file_unref(&s->schemes[i].file);
    }
}

/* RFC 9110 section 5.6.4. */
static void add_quoted(struct strbuf *out, const char *text)
{
    sb_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            sb_char(out, '\\');
        sb_char(out, *text);
    }
    sb_char(out, '"');
}

void auth_settings_challenge(const struct auth_settings *s, bool accel, struct strbuf *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct auth_scheme_settings *one = &s->schemes[s->order[i]];

        if (!one->works)
            continue;
        sb_printf(out, "%s-Authenticate: %s realm=", accel ? "WWW" : "Proxy", scheme_names[s->order[i]]);
        add_quoted(out, one->realm);
        if (s->order[i] == AUTH_BASIC && one->utf8)
            sb_str(out, ", charset=\"UTF-8\""); /* RFC 7617 section 2.1 */
        sb_str(out, "\r\n");
    }
}
