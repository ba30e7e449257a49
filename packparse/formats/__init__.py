"""One module per output format, each a pure function from a report to text.

``render(report)`` returns the lines for one file, with a newline at the end.
"""
