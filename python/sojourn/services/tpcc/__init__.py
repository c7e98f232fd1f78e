"""TPC-C's company: in PostgreSQL, in memory, in Java, and in Python to hold the answers right."""
