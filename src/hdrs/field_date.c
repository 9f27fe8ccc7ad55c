#include "hdrs/field_date.h"

#include "hdrs/token_hash.h"

#define SECONDS_PER_DAY 86400
#define YEAR_MAX 9999

static const char month_names[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
/* The epoch was a Thursday. */
static const char day_names[7][4] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
static const char *const day_names_long[7] = { "Thursday", "Friday",  "Saturday", "Sunday",
                                               "Monday",   "Tuesday", "Wednesday" };

struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* month 0-11 */
};

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int64_t year, int month)
{
    static const int days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month] + (month == 1 && is_leap(year));
}

/* Years are counted from March here, so that the leap day comes last and month lengths follow one line. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t y = month < 2 ? year - 1 : year;
    int from_march = (month + 10) % 12;
    int64_t before_epoch = 719468; /* 1 March of year 0 to 1 January 1970 */

    if (y < 0) /* January and February of year 0 */
        return -before_epoch - 366 + (153 * from_march + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + day - 1 - before_epoch;
}

static void civil_from_seconds(int64_t seconds, struct civil *c, int *weekday)
{
    int64_t days = seconds / SECONDS_PER_DAY, of_day = seconds % SECONDS_PER_DAY;
    int64_t from_zero, era, year_of_era;
    int day_of_era, day_of_year, from_march;

    if (of_day < 0) {
        of_day += SECONDS_PER_DAY;
        days--;
    }
    *weekday = (int)(((days % 7) + 7) % 7);
    from_zero = days + 719468 + 146097; /* one era of 400 years up, so that year 0 stays positive */
    era = from_zero / 146097;
    day_of_era = (int)(from_zero % 146097);
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    day_of_year = (int)(day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
    from_march = (5 * day_of_year + 2) / 153;
    c->day = day_of_year - (153 * from_march + 2) / 5 + 1;
    c->month = (from_march + 2) % 12;
    c->year = (era - 1) * 400 + year_of_era + (c->month < 2);
    c->hour = (int)(of_day / 3600);
    c->minute = (int)(of_day / 60 % 60);
    c->second = (int)(of_day % 60);
}

/* A cursor over the text; every step says whether it matched. */
static bool take(struct span *s, struct span literal)
{
    if (!span_starts_nocase(*s, literal))
        return false;
    *s = span_of(s->p + literal.len, s->len - literal.len);
    return true;
}

static bool take_digits(struct span *s, size_t n, int *out)
{
    int value = 0;

    if (s->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        value = value * 10 + (s->p[i] - '0');
    }
    *s = span_of(s->p + n, s->len - n);
    *out = value;
    return true;
}

static bool take_month(struct span *s, int *month)
{
    for (int m = 0; m < 12; m++)
        if (take(s, span_of(month_names[m], 3))) {
            *month = m;
            return true;
        }
    return false;
}

static bool take_day_name(struct span *s, bool *is_long)
{
    for (int d = 0; d < 7; d++)
        if ((*is_long = take(s, span_str(day_names_long[d]))) || take(s, span_of(day_names[d], 3)))
            return true;
    return false;
}

static bool take_time(struct span *s, struct civil *c)
{
    return take_digits(s, 2, &c->hour) && take(s, SPAN(":")) && take_digits(s, 2, &c->minute) && take(s, SPAN(":")) &&
           take_digits(s, 2, &c->second);
}

static bool take_year(struct span *s, struct civil *c)
{
    int year;

    if (!take_digits(s, 4, &year))
        return false;
    c->year = year;
    return true;
}

/* ", 06 Nov 1994 08:49:37 GMT" */
static bool imf_fixdate(struct span s, struct civil *c)
{
    return take(&s, SPAN(", ")) && take_digits(&s, 2, &c->day) && take(&s, SPAN(" ")) && take_month(&s, &c->month) &&
           take(&s, SPAN(" ")) && take_year(&s, c) && take(&s, SPAN(" ")) && take_time(&s, c) &&
           take(&s, SPAN(" GMT")) && s.len == 0;
}

/* ", 06-Nov-94 08:49:37 GMT": the year nearest to now that ends so, at most 50 years ahead. */
static bool rfc850_date(struct span s, int64_t now, struct civil *c)
{
    struct civil today;
    int year, weekday;

    if (!take(&s, SPAN(", ")) || !take_digits(&s, 2, &c->day) || !take(&s, SPAN("-")) || !take_month(&s, &c->month) ||
        !take(&s, SPAN("-")) || !take_digits(&s, 2, &year) || !take(&s, SPAN(" ")) || !take_time(&s, c) ||
        !take(&s, SPAN(" GMT")) || s.len != 0)
        return false;
    civil_from_seconds(now, &today, &weekday);
    c->year = today.year - today.year % 100 + year;
    if (c->year > today.year + 50)
        c->year -= 100;
    else if (c->year <= today.year - 50)
        c->year += 100;
    return true;
}

/* " Nov  6 08:49:37 1994" */
static bool asctime_date(struct span s, struct civil *c)
{
    if (!take(&s, SPAN(" ")) || !take_month(&s, &c->month) || !take(&s, SPAN(" ")))
        return false;
    if (take(&s, SPAN(" ")) ? !take_digits(&s, 1, &c->day) : !take_digits(&s, 2, &c->day))
        return false;
    return take(&s, SPAN(" ")) && take_time(&s, c) && take(&s, SPAN(" ")) && take_year(&s, c) && s.len == 0;
}

#define WORD(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* The value of two digits; above 99 when one isn't. */
static unsigned pair(const char *p)
{
    unsigned high = (unsigned char)p[0] - '0', low = (unsigned char)p[1] - '0';

    return high > 9 || low > 9 ? 1000 : high * 10 + low;
}

/* Month 0-11 by its three letters in any case; 12: none. The sum of the second and third, modulo 32, tells all apart. */
static int month_by_letters(const char *p)
{
    static const uint8_t by_sum[32] = {
#define M(b, c, n) [((b) + (c)) % 32] = (n)
        M('a', 'n', 1), M('e', 'b', 2), M('a', 'r', 3), M('p', 'r', 4),  M('a', 'y', 5),  M('u', 'n', 6),
        M('u', 'l', 7), M('u', 'g', 8), M('e', 'p', 9), M('c', 't', 10), M('o', 'v', 11), M('e', 'c', 12),
#undef M
    };
    unsigned char a = (unsigned char)(p[0] | 0x20), b = (unsigned char)(p[1] | 0x20), c = (unsigned char)(p[2] | 0x20);
    unsigned n = by_sum[(b + c) % 32u];

    if (n == 0 || a != (month_names[n - 1][0] | 0x20) || b != month_names[n - 1][1] || c != month_names[n - 1][2])
        return 12;
    return (int)n - 1;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT": what nearly all dates look like, every byte at its place. False: look closer. */
static bool usual_date(const char *p, int64_t *out)
{
    unsigned day = pair(p + 5), century = pair(p + 12), year = pair(p + 14), hour = pair(p + 17), minute = pair(p + 20),
             second = pair(p + 23);
    int month = month_by_letters(p + 8);
    uint32_t day_name = token_word(p) & 0xDFDFDF; /* letters in capitals */
    bool marks = p[3] == ',' && p[4] == ' ' && p[7] == ' ' && p[11] == ' ' && p[16] == ' ' && p[19] == ':' &&
                 p[22] == ':' && memcmp(p + 25, " GMT", 4) == 0;

    if (!marks || month == 12 || day - 1 > 27 || century > 99 || year > 99 || hour > 23 || minute > 59 || second > 59)
        return false; /* the 29th and later ask for the month's length, the rest is bad or odd */
    if (day_name != WORD('M', 'O', 'N', 0) && day_name != WORD('T', 'U', 'E', 0) &&
        day_name != WORD('W', 'E', 'D', 0) && day_name != WORD('T', 'H', 'U', 0) &&
        day_name != WORD('F', 'R', 'I', 0) && day_name != WORD('S', 'A', 'T', 0) && day_name != WORD('S', 'U', 'N', 0))
        return false;
    *out =
        days_from_civil(century * 100 + year, month, (int)day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    return true;
}

bool date_parse(struct span text, int64_t now, int64_t *out)
{
    struct civil c = { 0 };
    bool is_long;

    if (text.len == DATE_BYTES && usual_date(text.p, out))
        return true;
    if (!take_day_name(&text, &is_long))
        return false;
    /* A weekday that disagrees with the date is ignored (D7). */
    if (!(is_long ? rfc850_date(text, now, &c) : imf_fixdate(text, &c) || asctime_date(text, &c)))
        return false;
    if (c.day < 1 || c.day > days_in_month(c.year, c.month) || c.hour > 23 || c.minute > 59 || c.second > 60)
        return false;
    *out = days_from_civil(c.year, c.month, c.day) * SECONDS_PER_DAY + c.hour * 3600 + c.minute * 60 + c.second;
    return true;
}

static void two_digits(char *out, int n)
{
    out[0] = (char)('0' + n / 10);
    out[1] = (char)('0' + n % 10);
}

void date_print(char out[DATE_BYTES], int64_t seconds)
{
    const int64_t first = days_from_civil(0, 0, 1) * SECONDS_PER_DAY;
    const int64_t last = days_from_civil(YEAR_MAX + 1, 0, 1) * SECONDS_PER_DAY - 1;
    struct civil c;
    int weekday;

    civil_from_seconds(seconds < first ? first : seconds > last ? last : seconds, &c, &weekday);
    memcpy(out, "Ddd, dd Mon yyyy hh:mm:ss GMT", DATE_BYTES);
    memcpy(out, day_names[weekday], 3);
    two_digits(out + 5, c.day);
    memcpy(out + 8, month_names[c.month], 3);
    two_digits(out + 12, (int)c.year / 100);
    two_digits(out + 14, (int)c.year % 100);
    two_digits(out + 17, c.hour);
    two_digits(out + 20, c.minute);
    two_digits(out + 23, c.second);
}
