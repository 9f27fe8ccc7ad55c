/* control.h: -k: commands for a running proxy, and -k parse. */
#pragma once
#include "options.h"

/* Does what o->action says; returns the exit status. */
int control(const struct options *o);
