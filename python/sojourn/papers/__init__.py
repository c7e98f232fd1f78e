"""What the papers found, in numbers, and how ours are held against them."""
