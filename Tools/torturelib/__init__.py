"""The parts of Tools/torture."""
