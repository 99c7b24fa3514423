"""The parts of Tools/conformance: cases, wire format, origin, client, scores, caches."""
