#include "proxy/log_entry.h"

const struct log_tag_row log_tag_rows[TAG_N] = {
#define LOG_TAG(id, text, hit) [TAG_##id] = { text, hit },
#include "proxy/log_tag.def"
#undef LOG_TAG
};

const char *const hier_code_names[HIER_N] = {
#define HIER(id, text) [HIER_##id] = text,
#include "proxy/hier_code.def"
#undef HIER
};
