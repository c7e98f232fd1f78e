"""The parts of `scripts/mutants`: what is changed, and whether a test notices."""
