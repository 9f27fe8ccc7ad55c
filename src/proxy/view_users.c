/* Users that a worker knows: by credentials that were right, and by connections that were authenticated. */
#include "base/clock.h"
#include "proxy/client_conn.h"
#include "proxy/view.h"

struct maker {
    struct view_rows *rows;
    const struct auth_settings *settings;
};

static int64_t seconds_left(int64_t whole, int64_t passed)
{
    return whole > passed ? (whole - passed) / US_PER_S : 0;
}

/* A walk over all that are remembered, to count those without a row, could be long: beyond so many they aren't counted. */
#define COUNTED_MOST 20000

static bool add_entry(const struct auth_entry *e, void *ctx)
{
    struct maker *m = ctx;
    struct view_user *v = view_row(m->rows, sizeof *v);

    if (v == NULL)
        return m->rows->passed < COUNTED_MOST;
    v->scheme = e->scheme;
    v->user = view_keep(m->rows, e->user);
    v->keep = seconds_left(m->settings->ttl, e->used);
    v->check =
        e->scheme == AUTH_BASIC ? seconds_left(m->settings->schemes[AUTH_BASIC].credentials_ttl, e->verified) : v->keep;
    return true;
}

static void add_connections(struct view_rows *rows, const struct list_node *clients)
{
    for (const struct list_node *n = clients->next; n != clients; n = n->next) {
        const char *user = CONTAINER_OF(n, struct client_conn, node)->auth.user;
        struct view_user *v = user != NULL ? view_row(rows, sizeof *v) : NULL;

        if (v == NULL)
            continue;
        v->scheme = AUTH_NEGOTIATE;
        v->user = view_keep(rows, span_str(user));
        v->check = v->keep = -1;
    }
}

static void add(struct worker *w, void *share)
{
    const struct proxy_worker *pw = view_worker(w);
    struct view_rows *rows = share;
    struct maker m = { rows, &pw->settings->auth };

    rows->most = view_rows_most(w);
    auth_each(pw->auth, add_entry, &m);
    if (pw->settings->auth.schemes[AUTH_NEGOTIATE].works)
        add_connections(rows, &pw->clients);
}

static void drop(void *share)
{
    view_rows_free(share);
}

const struct gather_kind view_users = { sizeof(struct view_rows), add, drop };
