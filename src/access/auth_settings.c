#include "access/auth_settings.h"

#include <stdlib.h>

static const char *const scheme_names[AUTH_SCHEME_N] = {
    [AUTH_BASIC] = "Basic", [AUTH_DIGEST] = "Digest", [AUTH_NEGOTIATE] = "Negotiate"
};

const char *auth_scheme_name(enum auth_scheme s)
{
    return scheme_names[s];
}

void auth_settings_free(struct auth_settings *s, void (*format_free)(void *format))
{
    for (int i = 0; i < AUTH_SCHEME_N; i++) {
        free(s->schemes[i].where);
        free(s->schemes[i].realm);
        free(s->schemes[i].file_path);
        free(s->schemes[i].key_extras);
        if (s->schemes[i].key_extras_format != NULL)
            format_free(s->schemes[i].key_extras_format);
        htpasswd_file_unref(&s->schemes[i].file);
    }
}
