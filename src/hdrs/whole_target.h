/* hdrs/whole_target.h: compiling a file's functions for processors that have more than the baseline, without any
 * option on the command line: one binary runs everywhere. Private to the room.
 *
 * WHOLE_TARGET_BEGIN("avx2,bmi") behind the includes ... WHOLE_TARGET_END at the end. */
#pragma once

#define WHOLE_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define WHOLE_TARGET_BEGIN(features)                                                                                   \
    WHOLE_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define WHOLE_TARGET_END WHOLE_PRAGMA(clang attribute pop)
#else
#define WHOLE_TARGET_BEGIN(features) WHOLE_PRAGMA(GCC push_options) WHOLE_PRAGMA(GCC target(features))
#define WHOLE_TARGET_END WHOLE_PRAGMA(GCC pop_options)
#endif
