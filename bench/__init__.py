"""Wall time and peak memory of ``packcheck verify`` beside ``git index-pack --strict``."""
