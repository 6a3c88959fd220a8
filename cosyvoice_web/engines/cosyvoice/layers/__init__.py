"""Blocks that two or more of the networks are made of."""
