// Callers need these types to use the keychain: secrets are `SecretBytes`.
@_exported public import KeyfobPrimitives
