"""Decides when and in what order speech is made. Knows no HTTP, no torch and no concrete engine."""
