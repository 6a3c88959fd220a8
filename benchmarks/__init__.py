"""What is measured, and how; results are in RESULTS.md. Run from the repository's root: python -m benchmarks.NAME."""
