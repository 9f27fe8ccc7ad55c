/* squid.conf text of any kind: no crash, no leak, and what loads prints. Reading from text opens no file; names in `acl
 * src` and `dst` are resolved by src/access, so the resolver is replaced here and a run stays inside the process. */
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include "conf/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In place of libc's: a fuzzer must not ask DNS for what it makes up. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found)
{
    (void)name;
    (void)service;
    (void)hints;
    *found = NULL;
    return EAI_NONAME;
}

static void *compile(const char *spec, char error[160], size_t *at)
{
    error[0] = '\0';
    *at = strlen(spec);
    return *at % 7 != 0 ? malloc(1) : NULL; /* both ways get their turn */
}

static const char *builtin(struct span name)
{
    return span_eq(name, SPAN("squid")) ? "%ts %rm" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct conf_hooks hooks = { .logformat_compile = compile, .logformat_free = free, .logformat_builtin = builtin };
    struct conf_report report = { 0 };
    struct strbuf out = { 0 };
    struct settings *s = settings_read_text("fuzz", span_of((const char *)data, size), &hooks, &report);

    if ((s == NULL) != (report.errors > 0))
        abort();
    if (s != NULL) {
        settings_print(s, &out);
        settings_refresh_rule(s, SPAN("http://a.example/x?y"));
    }
    sb_free(&out);
    settings_unref(&s);
    return 0;
}
