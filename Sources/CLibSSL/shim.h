// libssl's headers, plus static inline functions for macros and callbacks that Swift cannot use directly.
#ifndef KEYFOB_CLIBSSL_SHIM_H
#define KEYFOB_CLIBSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/ssl.h>

static inline int keyfob_tls_choose(SSL *ssl, const unsigned char **output, unsigned char *output_count,
                                    const unsigned char *offered, unsigned int offered_count, void *protocol) {
    const unsigned char *own = (const unsigned char *)protocol;
    (void)ssl;
    // The result points into `own`, not into the client's message.
    if (SSL_select_next_proto((unsigned char **)output, output_count, own, 1u + own[0], offered, offered_count) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    return SSL_TLSEXT_ERR_OK;
}

static inline int keyfob_tls_require_alpn(SSL *ssl, int *alert, void *unused) {
    const unsigned char *content;
    size_t count;
    (void)unused;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &content, &count))
        return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
}

/// Has a server refuse connections without one application protocol, and those below TLS 1.2.
///
/// `protocol` is the length of a name and the name. It must outlive the connections.
static inline void keyfob_tls_require(SSL_CTX *context, const unsigned char *protocol) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_client_hello_cb(context, keyfob_tls_require_alpn, NULL);
    SSL_CTX_set_alpn_select_cb(context, keyfob_tls_choose, (void *)protocol);
}

#endif
