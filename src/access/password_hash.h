/* access/password_hash.h: passwords against their hashes, in the forms that htpasswd(1) and crypt(5) write: bcrypt, yescrypt,
 * scrypt, SHA-512 and SHA-256 crypt, $1$, $apr1$ and {SHA}. Any thread; made to be slow: up to 100 ms of computing. */
#pragma once
#include <stdbool.h>

/* Is it a hash that password_matches() can compute? *why (static text) says why not, plain text
 * above all; else it is NULL. */
bool password_hash_is_usable(const char *hash, const char **why);
/* Compares in constant time. False also for a hash that isn't usable. */
bool password_matches(const char *password, const char *hash);
