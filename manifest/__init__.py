"""Typed, versioned, authenticated records: what an artifact is, and what became of it. No I/O."""
