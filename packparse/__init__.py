"""packparse: a streaming verifier of untrusted Git packs and bundles.

Bytes in, findings out. Nothing here but the command-line rooms opens a file, reads the environment
or runs a program.
"""
