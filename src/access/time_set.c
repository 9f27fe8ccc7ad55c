#include "access/time_set.h"

#include <stdlib.h>
#include "base/mem.h"

#define EVERY_DAY 0x7f
#define WORKING_DAYS 0x3e
#define DAY_MINUTES (24 * 60)

static const char day_letters[] = "SMTWHFA";

void time_set_clear(struct time_set *s)
{
    free(s->periods);
    *s = (struct time_set){ 0 };
}

static void add_period(struct time_set *s, uint8_t days, uint16_t from, uint16_t to)
{
    s->periods = xrealloc(s->periods, (s->n + 1) * sizeof *s->periods);
    s->periods[s->n++] = (struct period){ days, from, to };
}

static bool parse_days(struct span word, uint8_t *days)
{
    for (size_t i = 0; i < word.len; i++) {
        const char *letter = memchr(day_letters, word.p[i], sizeof day_letters - 1);

        if (word.p[i] == 'D')
            *days |= WORKING_DAYS;
        else if (letter != NULL)
            *days |= (uint8_t)(1u << (letter - day_letters));
        else
            return false;
    }
    return word.len > 0;
}

/* hh:mm, h:mm too; 24:00 is the end of a day. Moves *word behind it. */
static bool parse_clock(struct span *word, uint16_t *minutes)
{
    unsigned part[2] = { 0, 0 };
    size_t at = 0;

    for (int i = 0; i < 2; i++) {
        size_t start = at;

        while (at < word->len && at - start < 2 && word->p[at] >= '0' && word->p[at] <= '9')
            part[i] = part[i] * 10 + (unsigned)(word->p[at++] - '0');
        if (at == start || (i == 1 && at - start != 2))
            return false;
        if (i == 0 && (at == word->len || word->p[at++] != ':'))
            return false;
    }
    *word = span_of(word->p + at, word->len - at);
    *minutes = (uint16_t)(part[0] * 60 + part[1]);
    return part[1] < 60 && *minutes <= DAY_MINUTES;
}

static bool parse_hours(struct span word, uint16_t *from, uint16_t *to)
{
    if (!parse_clock(&word, from) || word.len == 0 || word.p[0] != '-')
        return false;
    word = span_of(word.p + 1, word.len - 1);
    return parse_clock(&word, to) && word.len == 0;
}

bool time_set_add(struct time_set *s, const struct span *words, size_t n, size_t *at, const char **why)
{
    uint8_t days = 0;
    bool days_wait = false, hours_seen = false; /* days without hours yet; hours since the last days */

    for (*at = 0; *at < n; ++*at) {
        struct span word = words[*at];
        uint16_t from, to;

        if (word.len > 0 && (word.p[0] < '0' || word.p[0] > '9')) {
            if (hours_seen)
                days = 0;
            hours_seen = false;
            days_wait = true;
            if (!parse_days(word, &days)) {
                *why = "days are letters of SMTWHFA (Sunday to Saturday) or D (Monday to Friday)";
                return false;
            }
            continue;
        }
        if (!parse_hours(word, &from, &to)) {
            *why = "hours are written hh:mm-hh:mm";
            return false;
        }
        if (from > to) {
            *why = "the hours end before they start: give the part after midnight as hours of its own";
            return false;
        }
        add_period(s, days ? days : EVERY_DAY, from, to);
        days_wait = false;
        hours_seen = true;
    }
    if (days_wait)
        add_period(s, days, 0, DAY_MINUTES);
    return true;
}

bool time_set_contains(const struct time_set *s, int weekday, int minute)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct period *p = &s->periods[i];

        if ((p->days >> weekday & 1) && minute >= p->from && minute <= p->to)
            return true;
    }
    return false;
}

void time_set_print(const struct time_set *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct period *p = &s->periods[i];

        for (int day = 0; day < 7; day++)
            if (p->days >> day & 1)
                sb_char(out, day_letters[day]);
        sb_printf(out, " %02d:%02d-%02d:%02d ", p->from / 60, p->from % 60, p->to / 60, p->to % 60);
    }
}
