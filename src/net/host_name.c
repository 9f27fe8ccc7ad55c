#include "net/host_name.h"

#define LABEL_MAX 63

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_in_names(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

bool host_name_is_valid(struct span name)
{
    size_t label = 0, digits = 0; /* of the label in hand */

    if (name.len > HOST_NAME_MAX_LEN)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.p[i] == '.' && label > 0) {
            label = digits = 0;
            continue;
        }
        if (!is_in_names(name.p[i]) || ++label > LABEL_MAX)
            return false;
        digits += is_digit(name.p[i]);
    }
    return label > 0 && digits < label;
}
