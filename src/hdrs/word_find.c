#include "hdrs/word_find.h"

/* The rows this time. */
#define WORD_TABLE_DATA
#include "hdrs/token_table.h"
