"""Pure functions on float32 samples: joining, stretching, resampling, encoding."""
