// The package has no code.
