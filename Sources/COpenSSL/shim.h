// libcrypto, and the macros of it that Swift cannot import, as static inline functions.
#ifndef KEYFOB_COPENSSL_SHIM_H
#define KEYFOB_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#endif
