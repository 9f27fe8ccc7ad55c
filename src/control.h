/* control.h: -k: commands for a running proxy, and what is asked of the configuration. */
#pragma once
#include "options.h"

/* Does what o->action says; returns the exit status. */
int control(const struct options *o);
