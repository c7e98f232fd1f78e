"""Web servers as they come: their usual settings, over HTTP/1.1, TLS and HTTP/2."""
