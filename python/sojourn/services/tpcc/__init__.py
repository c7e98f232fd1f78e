"""TPC-C's company: PostgreSQL, in memory, in Java, and in Python as a check."""
