"""Promises that must hold for any bytes whatsoever."""
