"""Official checkpoints to our modules."""
