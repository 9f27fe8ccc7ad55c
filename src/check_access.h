/* check_access.h: -k check-access: what http_access says to one request, and why. Main thread, no proxy running. */
#pragma once
#include "options.h"

/* Prints it. 0: allowed, 1: denied, 2: it can't be told (stderr says why). Looks names up when a line asks for it. */
int check_access(const struct options *o);
