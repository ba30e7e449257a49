"""Tests of packparse, one module each; the packs they judge come from tests.support alone."""
