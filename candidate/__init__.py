"""The life of a candidate on the host, and the command ``git candidate``."""
