import Security

/// Keys, certificates and access control.
func keyIdioms() -> [Idiom] {
    []
}
