#include "proxy/client_limit.h"

#include <limits.h>
#include "base/clock.h"
#include "base/log.h"
#include "proxy/account.h"

/* A line a second and worker at most: who opens connections in a loop shall not fill the disk as well. */
static void say_refused(struct proxy_worker *pw, const struct addr *client, const struct addr *local)
{
    int64_t now = worker_mono(pw->worker);
    struct log_entry e;
    char text[ADDR_TEXT_MAX];

    log_entry_from_request(&e, NULL);
    e.client = *client;
    e.local = *local;
    e.url = SPAN("error:accept-client-connection");
    count(counters_of(pw), CLIENT_CONNECTIONS_REFUSED, 1);
    account_log(pw, &e, NULL);
    if (pw->refusal_told != 0 && now - pw->refusal_told < US_PER_S)
        return;
    pw->refusal_told = now;
    {
        struct addr shown = addr_cut(client, pw->settings->client_netmask);

        addr_print(&shown, text);
    }
    log_line(LOG_IMPORTANT, "WARNING: %s attempting more than %d connections (client_ip_max_connections)", text,
             pw->settings->client_ip_max_connections);
}

bool client_limit_admits(struct proxy_worker *pw, const struct addr *client, const struct addr *local,
                         struct client_count **counted)
{
    int most = pw->settings->client_ip_max_connections;

    *counted = NULL;
    if (!pw->tallying)
        return true;
    *counted = client_tally_add(pw->tally, client, most >= 0 ? (unsigned)most : UINT_MAX);
    if (*counted == NULL)
        say_refused(pw, client, local);
    return *counted != NULL;
}

void client_limit_count(struct proxy_worker *pw, const struct addr *client, struct client_count **counted)
{
    if (pw->tallying && *counted == NULL)
        *counted = client_tally_add(pw->tally, client, UINT_MAX);
}
