/* mgr/page_password.h: who may see a manager page (cachemgr_passwd; manager-pages.md section 1). Pure. */
#pragma once
#include "proxy/internal_service.h"

enum page_access {
    PAGE_PUBLIC,
    PAGE_PROTECTED, /* by the password */
    PAGE_HIDDEN,    /* needs a password by nature, and none is set: as if it didn't exist */
    PAGE_DISABLED,  /* the password is `disable` */
};

/* The first cachemgr_passwd line that names the page, or `all`, decides. *password: for PAGE_PROTECTED. */
enum page_access page_access(const struct settings *s, const char *page, bool needs_password, const char **password);
/* "public", "protected", "hidden", "disabled": as the menu has it. */
const char *page_access_name(enum page_access a);
/* Did the request bring it: after PAGE@, or in Authorization: Basic, whatever the user name? */
bool page_password_given(const struct internal_request *q, const char *password);
