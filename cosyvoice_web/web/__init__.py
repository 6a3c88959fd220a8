"""HTTP in, HTTP out. Knows no torch, no engine and no audio arithmetic."""
