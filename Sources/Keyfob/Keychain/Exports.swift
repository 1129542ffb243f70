// A program needs these types to call the keychain: secrets are `SecretBytes`.
@_exported public import KeyfobPrimitives
