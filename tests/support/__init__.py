"""Writers of honest and malformed Git data for the tests; they never import the code under test."""
