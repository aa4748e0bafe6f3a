"""Plain Python answers to what the native core computes: obvious rather than fast, and written without it."""
