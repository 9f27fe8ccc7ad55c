/* test/fuzz/fuzz_connection.c: a whole client connection, and the origin's side of it, against a whole proxy (one worker) in
 * this process. The input is what the client sends, 0xFF, and what the origin answers; in the origin's part 0xFE begins the
 * answer to its next request; 0xFD in either is a pause (the bytes before it arrive on their own). An answer ends its
 * connection unless it ends with 0xFC. The word ORIGIN in it becomes the origin's address. The first byte chooses the port:
 * odd is the reverse proxy's.
 *
 * Held are:
 *  - what the origin gets is a series of requests of which each is beyond doubt: strict grammar, one framing, one Host;
 *  - what the client gets is a series of responses of which each is beyond doubt, one for each request;
 *  - the connection ends soon when both sides have said all they had, and the proxy keeps nothing of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "fuzz_heads.h"
#include "hdrs/chunked.h"
#include "hdrs/framing.h"
#include "net/listener.h"
#include "proxy/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAUSE 0xFD
#define NEXT 0xFE
#define SIDES 0xFF
#define KEEP 0xFC
#define ORIGIN_CONNECTIONS 16
#define QUIET_MS 8     /* nothing happens for so long: the next step of the end */
#define LATE_MS 5000   /* it never ends */
#define SIDE_MAX 65536 /* bytes of one side's input */

static const char conf_format[] = "visible_hostname proxy.test\nhttp_port 127.0.0.1:3128\n"
                                  "http_port 127.0.0.1:3129 accel defaultsite=site.test\n"
                                  "cache_peer 127.0.0.1 parent %d 0 no-query originserver name=origin\n"
                                  "acl tunnel url_regex ^127\\.0\\.0\\.1:%d$\n"
                                  "http_access deny CONNECT !tunnel\nhttp_access allow all\n"
                                  "always_direct allow CONNECT\nnever_direct allow all\n"
                                  "http_upgrade_request_protocols OTHER allow all\n"
                                  "access_log none\ncache_mem 2 MB\nhosts_file none\ndns_nameservers 127.0.0.1\n"
                                  "pid_filename none\nexpect_continue_timeout 1\nrequest_body_max_size 40 KB\n";

static struct {
    struct proxy *proxy;
    struct addr port[2];
    int origin;
    char authority[32];
} house;

/* A side of the talk: what it has to say. */
struct script {
    const uint8_t *p;
    size_t left;
};

struct origin_connection {
    int fd; /* -1: none */
    struct strbuf in;
    struct script answer;
    struct strbuf out;
    size_t at, answered; /* bytes of in that answers have been made for */
    bool closing, ended;
};

static struct talk {
    int client;
    struct script says;
    struct strbuf out, in;
    size_t at;
    bool shut, over, reset;
    struct origin_connection origins[ORIGIN_CONNECTIONS];
    unsigned n_origins;
    struct script answers;
    unsigned quiet;
} talk;

/* --- the house -------------------------------------------------------------------------------------------------- */

static void no_page(void *ctx, const struct internal_request *q, struct internal_answer *a)
{
    (void)ctx, (void)q;
    a->status = 404;
}

static struct addr bound_address(int fd)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;

    MUST(getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    return addr_from_sockaddr((struct sockaddr *)&sa);
}

static void say(struct conf_report *r, bool is_error, const char *text)
{
    (void)r, (void)is_error;
    fprintf(stderr, "%s\n", text);
}

static void open_house(void)
{
    static const struct internal_service service = { .answer = no_page };
    static struct access_log *log;
    struct conf_report report = { .say = say };
    struct addr any;
    char conf[sizeof conf_format + 32];
    struct settings *s;
    int fds[2], n;

    log_set_level(-1);
    hash_init();
    MUST(addr_parse(SPAN("127.0.0.1"), &any));
    any.port = 0;
    MUST((house.origin = listener_socket(&any)) >= 0);
    for (int i = 0; i < 2; i++) {
        MUST((fds[i] = listener_socket(&any)) >= 0);
        house.port[i] = bound_address(fds[i]);
    }
    n = bound_address(house.origin).port;
    snprintf(house.authority, sizeof house.authority, "127.0.0.1:%d", n);
    snprintf(conf, sizeof conf, conf_format, n, n);
    MUST((s = settings_read_text("fuzz", span_str(conf), NULL, &report)) != NULL);
    MUST(access_log_open(&log, s, 1));
    house.proxy =
        proxy_new(&(struct proxy_config){ .settings = s, .log = log, .service = &service, .workers = 1, .fds = fds });
    proxy_start(house.proxy);
}

/* --- the talk --------------------------------------------------------------------------------------------------- */

/* The next piece of what is to be said. False: nothing is left. */
static bool next_piece(struct script *s, struct strbuf *out)
{
    static const char word[] = "ORIGIN";
    size_t n = 0;

    while (n < s->left && s->p[n] != PAUSE)
        n++;
    for (size_t i = 0; i < n;) {
        if (n - i >= sizeof word - 1 && memcmp(s->p + i, word, sizeof word - 1) == 0) {
            sb_str(out, house.authority);
            i += sizeof word - 1;
        } else {
            sb_char(out, (char)s->p[i++]);
        }
    }
    if (s->left == 0)
        return false;
    n += n < s->left;
    s->p += n;
    s->left -= n;
    return true;
}

static struct script until(struct script *s, uint8_t mark)
{
    const uint8_t *found = s->left > 0 ? memchr(s->p, mark, s->left) : NULL;
    struct script first = { s->p, found ? (size_t)(found - s->p) : s->left };

    s->p += first.left + (found != NULL);
    s->left -= first.left + (found != NULL);
    return first;
}

/* Sends what waits, then the next piece. True: something went. */
static bool speak(int fd, struct script *s, struct strbuf *out, size_t *at, bool *all)
{
    struct span rest;
    ssize_t n;

    *all = false;
    while (*at == out->len) {
        out->len = *at = 0;
        if (!next_piece(s, out)) {
            *all = true;
            return false;
        }
    }
    rest = sb_from(out, *at);
    n = send(fd, rest.p, rest.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        *at += (size_t)n;
        return true;
    }
    if (n < 0 && errno != EAGAIN)
        *all = true; /* the peer doesn't want to hear it */
    return false;
}

/* True: bytes came, or the end (*ended). */
static bool hear(int fd, struct strbuf *in, bool *ended, bool *reset)
{
    char buf[16384];
    ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);

    if (n > 0) {
        MUST(in->len < (64u << 20)); /* more than anything here could make */
        sb_add(in, buf, (size_t)n);
        return true;
    }
    if (n < 0 && errno == EAGAIN)
        return false;
    *ended = true;
    if (n < 0 && reset != NULL)
        *reset = true;
    return true;
}

static void origin_accepts(void)
{
    int fd = accept4(house.origin, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (talk.n_origins == ORIGIN_CONNECTIONS) {
        close(fd);
        return;
    }
    talk.origins[talk.n_origins++] = (struct origin_connection){ .fd = fd };
}

static void origin_ends(struct origin_connection *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

/* Bytes that nobody answered yet get the next answer. A request that comes in pieces may use up several: any order of events
 * is one the proxy must bear. */
static void origin_answers(struct origin_connection *o)
{
    struct script answer = until(&talk.answers, NEXT);

    o->answered = o->in.len;
    o->closing = answer.left == 0 || answer.p[answer.left - 1] != KEEP;
    if (!o->closing)
        answer.left--;
    o->answer = answer;
}

static bool origin_turn(struct origin_connection *o)
{
    bool all, moved = hear(o->fd, &o->in, &o->ended, NULL);

    if (o->ended) {
        origin_ends(o);
        return true;
    }
    if (o->answer.left == 0 && o->at == o->out.len && o->in.len > o->answered)
        origin_answers(o);
    moved |= speak(o->fd, &o->answer, &o->out, &o->at, &all);
    if (all && o->closing && o->answered > 0) {
        origin_ends(o);
        return true;
    }
    return moved;
}

static bool client_turn(void)
{
    bool all, moved = speak(talk.client, &talk.says, &talk.out, &talk.at, &all);

    if (all && !talk.shut) {
        talk.shut = true;
        shutdown(talk.client, SHUT_WR);
        moved = true;
    }
    return hear(talk.client, &talk.in, &talk.over, &talk.reset) || moved;
}

static bool turn(void)
{
    bool moved = client_turn();

    origin_accepts();
    for (unsigned i = 0; i < talk.n_origins; i++)
        if (talk.origins[i].fd >= 0)
            moved |= origin_turn(&talk.origins[i]);
    return moved;
}

static void wait_for_news(int ms)
{
    struct pollfd fds[ORIGIN_CONNECTIONS + 2] = { { talk.client, POLLIN, 0 }, { house.origin, POLLIN, 0 } };
    nfds_t n = 2;

    for (unsigned i = 0; i < talk.n_origins; i++)
        if (talk.origins[i].fd >= 0)
            fds[n++] = (struct pollfd){ talk.origins[i].fd, POLLIN, 0 };
    talk.quiet = poll(fds, n, ms) == 0 ? talk.quiet + 1 : 0;
}

/* Nobody has said anything for a while: the origins go, at last the client does. */
static void push(void)
{
    if (talk.quiet == 1)
        for (unsigned i = 0; i < talk.n_origins; i++)
            origin_ends(&talk.origins[i]);
    if (talk.quiet >= 2) {
        const struct linger at_once = { 1, 0 };

        setsockopt(talk.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        talk.over = talk.reset = true;
    }
}

/* Each connection from another address of 127.0.0.0/8: the ports of one would be used up in a minute. */
static void come_from_elsewhere(int fd)
{
    static uint32_t n;
    struct sockaddr_in sa = { .sin_family = AF_INET };
    const int one = 1;

    n++;
    sa.sin_addr.s_addr = htonl(0x7f000000u | (1 + n % 250) << 16 | (n / 250 % 250) << 8 | 1);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    MUST(bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0);
}

static void hold_talk(const uint8_t *data, size_t size)
{
    struct sockaddr_storage sa;
    struct script all = { data + 1, size - 1 };
    const struct addr *port = &house.port[data[0] & 1];
    const int one = 1;
    int64_t began = clock_mono_us();

    memset(&talk, 0, sizeof talk);
    talk.says = until(&all, SIDES);
    talk.answers = all;
    MUST((talk.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
    come_from_elsewhere(talk.client);
    MUST(connect(talk.client, (struct sockaddr *)&sa, addr_to_sockaddr(port, &sa)) == 0);
    setsockopt(talk.client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    while (!talk.over) {
        MUST(clock_mono_us() - began < LATE_MS * INT64_C(1000));
        if (turn())
            talk.quiet = 0;
        else
            wait_for_news(QUIET_MS);
        push();
    }
    close(talk.client);
    for (unsigned i = 0; i < talk.n_origins; i++)
        origin_ends(&talk.origins[i]);
    while (proxy_clients(house.proxy) > 0) {
        MUST(clock_mono_us() - began < LATE_MS * INT64_C(1000));
        poll(NULL, 0, 1);
        origin_accepts();
    }
}

/* --- the judgement ---------------------------------------------------------------------------------------------- */

static const struct parse_limits strict = { .max_bytes = 1 << 20, .max_fields = HEAD_FIELDS_MAX };

/* How many of the n bytes belong to the body; -1: it is broken. *whole: all of it is there. */
static ssize_t body_of(const struct framing *f, const char *p, size_t n, bool *whole)
{
    struct chunked c;
    size_t at = 0;

    *whole = true;
    switch (f->kind) {
    case FRAMING_NONE: return 0;
    case FRAMING_LENGTH: *whole = n >= f->length; return (ssize_t)(*whole ? f->length : n);
    case FRAMING_CLOSE: return (ssize_t)n;
    case FRAMING_BAD: return -1;
    case FRAMING_CHUNKED: break;
    }
    chunked_init(&c, 1 << 20);
    while (at < n) {
        struct span data;
        size_t used;
        enum chunked_result r = chunked_decode(&c, span_of(p + at, n - at), &used, &data);

        if (r == CHUNKED_BAD)
            return -1;
        at += used;
        if (r == CHUNKED_DONE)
            return (ssize_t)at;
    }
    *whole = false;
    return (ssize_t)n;
}

static bool has(const struct strbuf *b, const char *word)
{
    return b->len > 0 && memmem(b->p, b->len, word, strlen(word)) != NULL;
}

/* Requests as the origin must find them. */
static void judge_requests(const struct strbuf *in)
{
    static struct head h;
    size_t at = 0;

    while (at < in->len) {
        struct parse_progress progress = { 0 };
        struct parse_error e;
        struct framing f;
        enum parse_result r = parse_request(&h, in->p + at, in->len - at, &strict, &progress, &e);
        bool whole;
        ssize_t n;

        MUST(r != PARSE_BAD);
        if (r == PARSE_MORE)
            return; /* cut: its connection has ended */
        MUST(head_value(&h, TOKEN_HOST).p != NULL);
        MUST(head_value(&h, TOKEN_CONTENT_LENGTH).p == NULL || head_value(&h, TOKEN_TRANSFER_ENCODING).p == NULL);
        MUST(head_value(&h, TOKEN_PROXY_AUTHORIZATION).p == NULL);
        f = request_framing(&h);
        MUST(f.kind != FRAMING_BAD);
        at += h.len;
        MUST((n = body_of(&f, in->p + at, in->len - at, &whole)) >= 0);
        if (!whole)
            return;
        at += (size_t)n;
    }
}

/* The methods of what the client sent, as far as it is beyond doubt. */
static enum http_method next_method(const struct strbuf *said, size_t *at)
{
    static struct head h;
    struct parse_progress progress = { 0 };
    struct parse_error e;
    struct framing f;
    bool whole;
    ssize_t n;

    if (*at >= said->len || parse_request(&h, said->p + *at, said->len - *at, &strict, &progress, &e) != PARSE_DONE)
        return METHOD_OTHER;
    f = request_framing(&h);
    *at += h.len;
    n = body_of(&f, said->p + *at, said->len - *at, &whole);
    *at = n < 0 ? said->len : *at + (size_t)n;
    return (enum http_method)h.method;
}

static void judge_responses(const struct strbuf *in, const struct strbuf *said)
{
    static struct head h;
    size_t at = 0, said_at = 0;
    enum http_method method = next_method(said, &said_at);

    while (at < in->len) {
        struct parse_progress progress = { 0 };
        struct parse_error e;
        struct framing f;
        enum parse_result r = parse_response(&h, in->p + at, in->len - at, &strict, &progress, &e);
        bool whole;
        ssize_t n;

        MUST(r != PARSE_BAD);
        if (r == PARSE_MORE) {
            MUST(talk.reset); /* half a head only when all was pulled down */
            return;
        }
        MUST(head_value(&h, TOKEN_CONTENT_LENGTH).p == NULL || head_value(&h, TOKEN_TRANSFER_ENCODING).p == NULL);
        at += h.len;
        if (h.status == 101 || (method == METHOD_CONNECT && h.status == 200))
            return; /* another protocol from here on */
        if (h.status < 200)
            continue;
        f = response_framing(&h, method);
        MUST(f.kind != FRAMING_BAD);
        MUST((n = body_of(&f, in->p + at, in->len - at, &whole)) >= 0);
        if (!whole)
            return; /* a cut the client can see */
        at += (size_t)n;
        method = next_method(said, &said_at);
    }
}

static void judge(const uint8_t *data, size_t size)
{
    struct script all = { data + 1, size - 1 }, says = until(&all, SIDES);
    struct strbuf said = { 0 };
    bool changes;

    while (next_piece(&says, &said))
        ;
    /* What goes through a tunnel is anybody's. */
    changes = has(&said, "CONNECT") || has(&said, "pgrade") || has(&said, "PGRADE");
    for (unsigned i = 0; i < talk.n_origins && !changes; i++)
        judge_requests(&talk.origins[i].in);
    judge_responses(&talk.in, &said);
    sb_free(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > SIDE_MAX)
        return 0;
    if (house.proxy == NULL)
        open_house();
    hold_talk(data, size);
    judge(data, size);
    sb_free(&talk.out);
    sb_free(&talk.in);
    for (unsigned i = 0; i < talk.n_origins; i++) {
        sb_free(&talk.origins[i].in);
        sb_free(&talk.origins[i].out);
    }
    return 0;
}
