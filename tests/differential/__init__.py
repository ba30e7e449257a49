"""Both verdicts on the same bytes: that of ``git index-pack --strict`` and ours."""
