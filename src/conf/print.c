/* squid.conf.default, mgr:config, and the configuration that needs no file: all from the directive table. */
#include "conf/directive.h"

/* Who may do what when nothing else was decided: one text, so that what is printed and what is built in can't part. */
#define RECOMMENDED_MINIMUM                                                                                            \
    "acl SSL_ports port 443\n"                                                                                         \
    "acl Safe_ports port 80 21 443 70 210 280 488 591 777 1025-65535\n"                                                \
    "\n"                                                                                                               \
    "# Only the ports of ordinary services, and tunnels only to where TLS is spoken.\n"                                \
    "http_access deny !Safe_ports\n"                                                                                   \
    "http_access deny CONNECT !SSL_ports\n"                                                                            \
    "# Manager pages for this machine only.\n"                                                                         \
    "http_access allow localhost manager\n"                                                                            \
    "http_access deny manager\n"                                                                                       \
    "# Services of this machine that trust whoever comes from it: keep clients from reaching them.\n"                  \
    "#http_access deny to_localhost\n"                                                                                 \
    "#http_access deny to_linklocal\n"                                                                                 \
    "\n"                                                                                                               \
    "# Your own networks go here:\n"                                                                                   \
    "#acl localnet src 192.168.0.0/16\n"                                                                               \
    "#http_access allow localnet\n"                                                                                    \
    "http_access allow localhost\n"                                                                                    \
    "http_access deny all\n"

struct span settings_embedded(void)
{
    static const char text[] = "http_port 127.0.0.1:3128\n"
                               "access_log stdio:/dev/stdout squid\n"
                               "cache_log /dev/stderr\n"
                               "pid_filename none\n"
                               "coredump_dir none\n" RECOMMENDED_MINIMUM;

    return SPAN(text);
}

/* Each line of text behind a prefix. */
static void add_lines(struct strbuf *out, const char *prefix, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        sb_printf(out, "%s%.*s\n", prefix, (int)len, text);
        text += len + (text[len] == '\n');
    }
}

/* The names of a class as a paragraph of comments. */
static void add_names(struct strbuf *out, enum directive_class class)
{
    size_t column = 0;

    for (const struct directive *d = directives_ignored; d->name != NULL; d++) {
        size_t len = strlen(d->name);

        if (d->class != class)
            continue;
        if (column == 0 || column + 1 + len > 100) {
            sb_str(out, column == 0 ? "#  " : "\n#  ");
            column = 2;
        }
        sb_printf(out, " %s", d->name);
        column += 1 + len;
    }
    sb_char(out, '\n');
}

void settings_print_default(struct strbuf *out)
{
    sb_str(out, "# Loligo's configuration: every directive, what it means, and its default behind a #. What is in\n"
                "# force by this file stands at its end. The language is squid.conf's: one directive a line, a #\n"
                "# begins a comment, a \\ at the end joins lines, `include FILE...` reads others. ${logdir} and\n"
                "# ${rundir} are directories that ./configure was told.\n");
    for (const struct directive *d = directives_working; d->name != NULL; d++) {
        sb_printf(out, "\n# == %s ==\n", d->name);
        if (d->aliases != NULL)
            sb_printf(out, "# (also under its older name %s)\n", d->aliases);
        add_lines(out, "#   ", d->meaning);
        if (d->preset != NULL)
            sb_printf(out, "#%s %s\n", d->name, d->preset);
        else
            sb_str(out, "#   default: none\n");
    }
    sb_str(out, "\n# == what other names of squid.conf do ==\n#   Accepted, there being nothing to do:\n");
    add_names(out, ACCEPTED);
    sb_str(out, "#   Not implemented, ignored with a warning:\n");
    add_names(out, LATER);
    sb_str(out, "#   Obsolete, ignored with a warning:\n");
    add_names(out, OBSOLETE);
    sb_str(out, "#   Not supported yet and refused, as ignoring them would open, unlimit or reroute something:\n");
    add_names(out, REFUSED);
    sb_str(out, "\n# == in force: the recommended minimum ==\n"
                "http_port 3128\n" RECOMMENDED_MINIMUM
                "\n# Generated pages that don't say how long they last are not to be taken for files.\n"
                "refresh_pattern -i (/cgi-bin/|\\?) 0 0% 0\n"
                "refresh_pattern . 0 20% 4320\n");
}

void settings_print(const struct settings *s, struct strbuf *out)
{
    for (const struct directive *d = directives_working; d->name != NULL; d++)
        if (d->kind->print != NULL)
            d->kind->print(s, d, out);
}
