#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/similar.h"

enum { OPT_FOREGROUND = 256, OPT_PRINT_DEFAULT, OPT_EMBEDDED, OPT_JSON };

static const struct option long_options[] = {
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    { "foreground", no_argument, NULL, OPT_FOREGROUND },
    { "embedded", no_argument, NULL, OPT_EMBEDDED },
    { "json", no_argument, NULL, OPT_JSON },
    { "print-default-config", no_argument, NULL, OPT_PRINT_DEFAULT },
    { NULL, 0, NULL, 0 },
};

static const struct {
    const char *word;
    enum action action;
    const char *meaning;
} commands[] = {
    { "parse", ACTION_PARSE, "read the configuration, show everything wrong with it" },
    { "check", ACTION_CHECK, "is it running? exit status 0: yes" },
    { "reconfigure", ACTION_RECONFIGURE, "read the configuration again, without dropping a request" },
    { "rotate", ACTION_ROTATE, "rotate or reopen the logs" },
    { "shutdown", ACTION_SHUTDOWN, "let requests finish (shutdown_lifetime), then stop" },
    { "interrupt", ACTION_INTERRUPT, "stop now" },
    { "kill", ACTION_KILL, "kill it" },
    { "check-access", ACTION_CHECK_ACCESS, NULL },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

void options_help(void)
{
    puts("loligo: a caching HTTP proxy that reads squid.conf\n"
         "\n"
         "Usage: loligo [options]\n"
         "  Without -k it starts the proxy: in the background, a small parent process watching over it.\n"
         "\n"
         "Start\n"
         "  -f FILE          read this configuration file instead of " LOLIGO_SYSCONFDIR "/squid.conf\n"
         "      --embedded   use the built-in configuration: 127.0.0.1:3128, logs to stdout and stderr\n"
         "      --foreground stay in the foreground; the parent still restarts a proxy that dies\n"
         "  -N               stay in the foreground as a single process, without a parent\n"
         "  -n NAME          a name for this instance, for its messages\n"
         "  -d LEVEL         copy cache.log lines up to this level to stderr as well (1: important ones)\n"
         "\n"
         "Talk to a running proxy (found through pid_filename)");
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].meaning != NULL)
            printf("  -k %-14s%s\n", commands[i].word, commands[i].meaning);
    puts("\n"
         "Ask the configuration\n"
         "  -k check-access METHOD URL [CLIENT [USER]] [--json]\n"
         "                   would http_access let this request through, and which line says so? CLIENT: an address,\n"
         "                   127.0.0.1 without. USER: who has logged in; nobody without. Exit status: 0 allowed,\n"
         "                   1 denied or asked for a login, 2 it can't be told\n"
         "\n"
         "Other\n"
         "  -z               nothing to do (there is no disk cache to create); always succeeds\n"
         "  -v, --version    print the version and how this binary was built\n"
         "  -h, --help       print this\n"
         "      --print-default-config\n"
         "                   print squid.conf.default: every directive, its meaning and its default\n"
         "  -Y, -C, -s       accepted for Squid's sake; they change nothing\n"
         "\n"
         "Exit status: 0 success; 1 the configuration has errors, the command line was wrong, the proxy could not\n"
         "start, or (-k) no proxy is running.");
}

static enum action command(const char *word)
{
    const char *words[COMMANDS + 1] = { NULL };
    const char *near;

    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].word) == 0)
            return commands[i].action;
        words[i] = commands[i].word;
    }
    if (strcmp(word, "debug") == 0) {
        fputs("loligo: -k debug is not offered: set debug_options in the configuration, then -k reconfigure\n", stderr);
        return ACTION_BAD;
    }
    near = similar_word(words, span_str(word));
    fprintf(stderr, "loligo: unknown command '-k %s'", word);
    if (near != NULL)
        fprintf(stderr, " (did you mean '%s'?)", near);
    fputs("; there are:", stderr);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
    return ACTION_BAD;
}

static bool is_service_name(const char *name)
{
    size_t n = strlen(name);

    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p))
            return false;
    return n >= 1 && n <= 32;
}

static bool level(const char *text, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end != '\0' || n < 0 || n > 9)
        return false;
    *out = (int)n;
    return true;
}

static struct options bad(struct options o, const char *before, const char *what, const char *after)
{
    fprintf(stderr, "loligo: %s%s%s; try loligo --help\n", before, what, after);
    o.bad_status = o.action == ACTION_CHECK_ACCESS ? 2 : 1;
    o.action = ACTION_BAD;
    return o;
}

/* What getopt stumbled over: a letter, perhaps in the middle of an argument such as -NYx, or a long option. */
static const char *the_option(char **argv, char letter[3])
{
    if (optopt == 0 || optopt >= OPT_FOREGROUND)
        return argv[optind - 1];
    snprintf(letter, 3, "-%c", optopt);
    return letter;
}

struct options options_parse(int argc, char **argv)
{
    struct options o = { .action = ACTION_RUN, .stderr_level = -1, .bad_status = 1 };
    char letter[3];
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":f:n:d:k:NzvhYCs", long_options, NULL)) != -1) {
        switch (c) {
        case 'f': o.file = optarg; break;
        case 'N': o.single = o.foreground = true; break;
        case 'z': o.action = ACTION_MAKE_DIRS; break;
        case 'v': o.action = ACTION_VERSION; break;
        case 'h': o.action = ACTION_HELP; break;
        case 'Y':
        case 'C':
        case 's': break;
        case OPT_FOREGROUND: o.foreground = true; break;
        case OPT_EMBEDDED: o.embedded = true; break;
        case OPT_JSON: o.json = true; break;
        case OPT_PRINT_DEFAULT: o.action = ACTION_PRINT_DEFAULT; break;
        case 'k': o.action = command(optarg); break;
        case 'n':
            if (!is_service_name(optarg))
                return bad(o, "-n ", optarg, ": a name is up to 32 letters and digits");
            o.service_name = optarg;
            break;
        case 'd':
            if (!level(optarg, &o.stderr_level))
                return bad(o, "-d ", optarg, ": a level is a number from 0 to 9");
            break;
        case ':': return bad(o, "", the_option(argv, letter), " needs a value");
        default: return bad(o, "unknown option ", the_option(argv, letter), "");
        }
        if (o.action == ACTION_BAD || o.action == ACTION_HELP)
            return o;
    }
    o.arguments = argv + optind;
    o.n_arguments = argc - optind;
    if (o.action == ACTION_CHECK_ACCESS && (o.n_arguments < 2 || o.n_arguments > 4))
        return bad(o, "-k check-access", " METHOD URL [CLIENT [USER]]", ": two to four words");
    if (o.json && o.action != ACTION_CHECK_ACCESS)
        return bad(o, "--json", "", " goes with -k check-access only");
    if (optind < argc && o.action != ACTION_CHECK_ACCESS)
        return bad(o, "unexpected argument '", argv[optind], "'");
    if (o.embedded && o.file != NULL)
        return bad(o, "-f ", o.file, " and --embedded exclude one another");
    return o;
}
