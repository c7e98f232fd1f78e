"""A record on disk, read back: one reader, its cache, the names of a point's files."""
