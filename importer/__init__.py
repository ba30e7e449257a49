"""The thin, crash-safe shell around native git: from an export folder to objects and a receipt."""
