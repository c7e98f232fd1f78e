"""Facts of this machine, read and never changed: what it is, what it can do, who runs where."""
