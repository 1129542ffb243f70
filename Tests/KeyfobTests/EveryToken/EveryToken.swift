import Testing

/// The tests that any token can run: they test the keychain, not the token.
///
/// Each makes its keychains with `TestKeychain`, and states with `.needs` what the token must be able to do.
/// `Scripts/test` runs them on SoftHSM, `Scripts/test-tokens` on the other kinds of tokens.
@Suite(.recorded) enum EveryToken {}
