"""Tools that fault any store that is driven by shell commands; README.md says how."""
