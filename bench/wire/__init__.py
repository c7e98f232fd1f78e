"""Protocols beside memcache, RESP and plain HTTP: servers and public tools that speak them."""
