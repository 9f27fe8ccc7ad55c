/* mgr:username_cache: a user whom several workers know is listed once, as the one knows him that asked last. */
#include <inttypes.h>
#include "mgr/gathered.h"

static struct span user_of(const struct told *t)
{
    return view_span(t->text, ((const struct view_user *)t->row)->user);
}

static int by_user(const void *pa, const void *pb)
{
    const struct view_user *a = ((const struct told *)pa)->row, *b = ((const struct told *)pb)->row;
    struct span x = user_of(pa), y = user_of(pb);
    int order = memcmp(x.p, y.p, x.len < y.len ? x.len : y.len);

    if (order != 0)
        return order;
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    if (a->scheme != b->scheme)
        return (int)a->scheme - (int)b->scheme;
    return (a->check < b->check) - (a->check > b->check);
}

static bool same_user(const struct told *a, const struct told *b)
{
    const struct view_user *one = a->row, *two = b->row;

    return one->scheme == two->scheme && span_eq(user_of(a), user_of(b));
}

/* Leaves one of each. */
static void unite(struct all_rows *all)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->n; i++)
        if (kept == 0 || !same_user(&all->p[kept - 1], &all->p[i]))
            all->p[kept++] = all->p[i];
    all->n = kept;
}

static void add_user(struct strbuf *out, const struct told *t)
{
    static const char *const types[AUTH_SCHEME_N] = {
        [AUTH_BASIC] = "AUTH_BASIC",
        [AUTH_DIGEST] = "AUTH_DIGEST",
        [AUTH_NEGOTIATE] = "AUTH_NEGOTIATE",
    };
    const struct view_user *v = t->row;

    sb_printf(out, "%-15s %-9s %9" PRId64 " %9" PRId64 " ", types[v->scheme], "Ok", v->check, v->keep);
    add_escaped(out, user_of(t));
    sb_char(out, '\t');
    add_escaped(out, user_of(t));
    sb_char(out, '\n');
}

void username_cache_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_user), by_user);

    unite(&all);
    sb_printf(out, "Cached Usernames: %zu\n", all.n + all.passed);
    sb_str(out, "Type            State     Check TTL Cache TTL Username\tKey\n"
                "--------------- --------- --------- --------- ------------------------------\n");
    for (size_t i = 0; i < all.n; i++)
        add_user(out, &all.p[i]);
    add_missing(r, out, all.passed, "users");
    all_rows_free(&all);
}
