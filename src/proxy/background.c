#include "proxy/background.h"

#include "proxy/fetch.h"
#include "proxy/request_access.h"

void background_validate(struct proxy_worker *pw, const struct request *r, struct object *stale)
{
    struct fetch_plan plan = {
        .pw = pw,
        .settings = pw->settings,
        .fill = request_allowed(pw->settings->miss_access, r) ? fill_open_background(pw->store, r->key) : NULL,
        .stale = stale,
        .cacheable = true,
        .background = true,
    };

    if (plan.fill == NULL)
        return;
    plan.request = request_keep(r);
    (void)fetch_start(&plan);
    request_unref(&plan.request);
}
