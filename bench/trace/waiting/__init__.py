"""Servers whose requests wait for a planted time in a planted place."""
