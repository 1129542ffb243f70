// The errors, items and attributes that the token's declarations name.
@_exported public import KeyfobModel
@_exported public import KeyfobSystem
