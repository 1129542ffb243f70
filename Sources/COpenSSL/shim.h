// libcrypto, and the macros of it that Swift cannot import, as static inline functions.
#ifndef KEYFOB_COPENSSL_SHIM_H
#define KEYFOB_COPENSSL_SHIM_H

#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/pkcs7.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/// HKDF of EVP_KDF-HKDF(7): extract and expand. An OSSL_PARAM array wants pointers that outlive one Swift call.
static inline int keyfob_hkdf(EVP_KDF *kdf, const char *digest, const void *key, size_t key_count, const void *salt,
                              size_t salt_count, const void *info, size_t info_count, unsigned char *output,
                              size_t output_count) {
    OSSL_PARAM parameters[5], *next = parameters;
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    int result;
    if (context == NULL)
        return 0;
    *next++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0);
    *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_count);
    if (salt_count > 0)
        *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_count);
    if (info_count > 0)
        *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count);
    *next = OSSL_PARAM_construct_end();
    result = EVP_KDF_derive(context, output, output_count, parameters);
    EVP_KDF_CTX_free(context);
    return result;
}

/// A keyed HMAC context (EVP_MAC-HMAC(7)), or NULL.
static inline EVP_MAC_CTX *keyfob_hmac_new(EVP_MAC *mac, const char *digest, const unsigned char *key, size_t count) {
    OSSL_PARAM parameters[2] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
                                OSSL_PARAM_construct_end()};
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    if (context != NULL && !EVP_MAC_init(context, key, count, parameters)) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

#endif
