"""The parts of Tools/soak."""
