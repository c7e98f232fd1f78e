"""What is inside a virtual machine, and how the lab speaks with it."""
