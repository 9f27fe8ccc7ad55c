#include "hdrs/scan.h"

#define RANGE(from, to) [from... to] = true

const bool scan_is_tchar[256] = {
    RANGE('a', 'z'), RANGE('A', 'Z'), RANGE('0', '9'), ['!'] = true, ['#'] = true, ['$'] = true,
    ['%'] = true,    ['&'] = true,    ['\''] = true,   ['*'] = true, ['+'] = true, ['-'] = true,
    ['.'] = true,    ['^'] = true,    ['_'] = true,    ['`'] = true, ['|'] = true, ['~'] = true,
};
