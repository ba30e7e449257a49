"""Tests of manifest, one module each; the records come from made.py."""
