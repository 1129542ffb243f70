// The errors, items and attributes that the vault's declarations name.
@_exported public import KeyfobModel
@_exported public import KeyfobSystem
