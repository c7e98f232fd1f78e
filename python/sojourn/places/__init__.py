"""Where programs run: how they are started, found again, ended and kept from harm."""
