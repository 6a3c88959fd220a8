"""The voice engines behind one interface."""
