/* cpu_affinity_map. */
#include "base/affinity.h"
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/value.h"
#include "hdrs/field_list.h"

/* The next number of "1,2,3". False: it is none from 1 to most, which was said. */
static bool next_number(struct reading *r, const struct word *w, struct span *rest, int64_t most, int *out)
{
    struct span member = SPAN_NONE;
    int64_t n;

    if (list_next(rest, &member) && value_count(member, 1, most, &n) == VALUE_OK) {
        *out = (int)n;
        return true;
    }
    diag_error(r->report, w->at, NULL, "'%.*s' has no number from 1 to %d for each process", QUOTED_ARG(w->text),
               (int)most);
    return false;
}

static void add(struct reading *r, const struct line *l, int process, int core)
{
    struct affinity_setting *a;

    for (size_t i = 0; i < r->s->n_affinities; i++)
        if (r->s->affinities[i].process == process) {
            diag_error(r->report, l->words[1].at, NULL, "process %d is on core %d already", process,
                       r->s->affinities[i].core);
            return;
        }
    a = ARRAY_PUSH(r->s->affinities, r->s->n_affinities);
    *a = (struct affinity_setting){ process, core };
}

static void parse_affinity(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span processes, cores;

    if (!words_between(r, l, 2, 2))
        return;
    if (!option_is(l->words[1].text, "process_numbers", &processes) || !option_is(l->words[2].text, "cores", &cores)) {
        diag_error(r->report, l->words[1].at, NULL, "%s process_numbers=1,2,... cores=1,2,... is expected", d->name);
        return;
    }
    do {
        int process, core;

        if (!next_number(r, &l->words[1], &processes, INT16_MAX, &process) ||
            !next_number(r, &l->words[2], &cores, AFFINITY_CPUS_MAX, &core))
            return;
        add(r, l, process, core);
    } while (processes.len > 0);
    if (cores.len > 0)
        diag_error(r->report, l->words[2].at, NULL, "%s: there are more cores than processes", d->name);
}

static void print_affinity(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_affinities; i++)
        sb_printf(out, "%s process_numbers=%d cores=%d\n", d->name, s->affinities[i].process, s->affinities[i].core);
}

const struct directive_kind kind_affinity = { parse_affinity, print_affinity };
