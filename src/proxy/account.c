#include "proxy/account.h"

#include "proxy/proxy.h"
#include "proxy/request_access.h"

void log_entry_from_request(struct log_entry *e, const struct request *r)
{
    *e = (struct log_entry){ .dns_us = -1, .server_us = -1 };
    if (r == NULL)
        return;
    e->start_wall = r->start_wall;
    e->start_mono = r->start_mono;
    e->client = *request_log_client(r);
    e->local = r->local;
    e->method = head_piece(r->head, r->head->method_name);
    e->url = request_log_url(r);
    e->minor_version = r->head->minor_version;
    e->request = r->head;
    e->bytes_in = r->bytes_in;
    e->user = r->user;
    e->access_line = r->access_line;
}

static enum service_time time_kind(enum log_tag tag)
{
    switch (tag) {
    case TAG_TCP_IMS_HIT:
    case TAG_TCP_INM_HIT: return TIME_NOT_MODIFIED;
    case TAG_TCP_REFRESH_UNMODIFIED: return TIME_NEAR_HIT;
    default: return log_tag_rows[tag].is_hit ? TIME_HIT : TIME_MISS;
    }
}

static void end(struct proxy_worker *pw, struct log_entry *e)
{
    e->end_mono = worker_mono(pw->worker);
    e->end_wall = worker_wall(pw->worker);
    if (e->start_mono == 0) {
        e->start_mono = e->end_mono;
        e->start_wall = e->end_wall;
    }
}

/* The directive `note`. */
static void annotate(const struct settings *s, const struct access_facts *f)
{
    for (size_t i = 0; f->notes != NULL && i < s->n_notes; i++)
        if (s->notes[i].when == NULL || access_check(s->notes[i].when, f).answer == ACCESS_ALLOWED)
            notes_add(f->notes, span_str(s->notes[i].name), span_str(s->notes[i].value), true);
}

void account_log(struct proxy_worker *pw, struct log_entry *e, const struct request *r)
{
    end(pw, e);
    if (pw->logging) {
        struct access_facts f = { .client = e->client, .local = e->local, .status = e->status };

        if (r != NULL)
            request_facts(r, &f);
        else
            f.draw = request_draw();
        if (f.user_state != USER_KNOWN)
            f.user_state = USER_NOBODY;
        f.status = e->status;
        f.reply_head = e->reply_head;
        f.error_name = span_str(e->error_name);
        request_facts_route(e, &f);
        annotate(pw->settings, &f);
        e->notes = f.notes;
        e->client_notes = f.client_notes;
        /* Unique without a line that all workers write on every hit. */
        e->sequence = pw->sequence++ * proxy_workers(pw->proxy) + pw->worker->id;
        access_log_write(pw->log, pw->worker, pw->settings, e, &f);
    }
}

void account(struct proxy_worker *pw, struct log_entry *e, const struct request *r)
{
    struct counters *c = counters_of(pw);
    int64_t took;

    end(pw, e);
    took = e->end_mono - e->start_mono;
    count(c, CLIENT_HTTP_REQUESTS, 1);
    count(c, CLIENT_HTTP_KBYTES_IN, e->bytes_in);
    count(c, CLIENT_HTTP_KBYTES_OUT, e->bytes_out);
    reason_count(&pw->reasons, e->reason);
    if (pw->settings->client_db)
        client_records_count(pw->records, r != NULL ? &r->client : &e->client, e->tag);
    if (log_tag_rows[e->tag].is_hit) {
        count(c, CLIENT_HTTP_HITS, 1);
        count(c, CLIENT_HTTP_HIT_KBYTES_OUT, e->bytes_out);
        if (e->tag == TAG_TCP_MEM_HIT)
            count(c, MEM_HITS, 1);
    }
    if (e->error_name != NULL)
        count(c, CLIENT_HTTP_ERRORS, 1);
    count_time(c, TIME_ALL, took);
    if (e->tag != TAG_TCP_TUNNEL)
        count_time(c, time_kind(e->tag), took);
    account_log(pw, e, r);
}
