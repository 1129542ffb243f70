// A program needs these types to call the keychain: items, queries, errors, and secrets as `SecretBytes`.
@_exported public import KeyfobModel
@_exported public import KeyfobPrimitives
@_exported public import KeyfobSystem
@_exported public import KeyfobToken
@_exported public import KeyfobVault
