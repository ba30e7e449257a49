"""Tests of importer, one module each; the launches come from tests.support.launches."""
