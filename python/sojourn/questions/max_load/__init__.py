"""The most load that fits within the target."""
