// libcrypto's headers, plus static inline functions for calls that Swift cannot make directly.
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

/// A KDF that takes a digest, a secret and public information: EVP_KDF-X963(7), EVP_KDF-SS(7).
static inline int keyfob_kdf(EVP_KDF *kdf, const char *digest, const void *secret, size_t secret_count,
                              const void *info, size_t info_count, unsigned char *output, size_t output_count) {
    OSSL_PARAM parameters[4], *next = parameters;
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    int result;
    if (context == NULL)
        return 0;
    *next++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0);
    *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, (void *)secret, secret_count);
    if (info_count > 0)
        *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count);
    *next = OSSL_PARAM_construct_end();
    result = EVP_KDF_derive(context, output, output_count, parameters);
    EVP_KDF_CTX_free(context);
    return result;
}

// OpenSSL 3 deprecates the functions for RSA padding, but has no replacement for keys that it does not hold itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Extracts the message from a block of RSAES-OAEP; returns its length, or -1. `block` is as long as the modulus
/// (RSA_padding_add_PKCS1_OAEP(3)).
static inline int keyfob_rsa_open_oaep(unsigned char *output, int output_count, const unsigned char *block,
                                       int count, const EVP_MD *digest) {
    return RSA_padding_check_PKCS1_OAEP_mgf1(output, output_count, block, count, count, NULL, 0, digest, digest);
}

/// Extracts the message from a block of RSAES-PKCS1-v1_5; returns its length, or -1. `block` is as long as the modulus.
static inline int keyfob_rsa_open_pkcs1(unsigned char *output, int output_count, const unsigned char *block,
                                        int count) {
    return RSA_padding_check_PKCS1_type_2(output, output_count, block, count, count);
}

#pragma GCC diagnostic pop

#endif
