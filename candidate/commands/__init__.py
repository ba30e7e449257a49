"""The commands of ``git candidate``, one module each."""
