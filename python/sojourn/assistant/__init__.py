"""`sojourn mcp`: records for assistants, by the Model Context Protocol.

    tools    what an assistant may ask; each gives a table
    plain    what it is sent of that: plain values of bounded size
    serve    speaks the protocol on stdin and stdout

It reads. Texts of records are a stranger's, and an assistant may take them for a wish of its user,
so each is bounded, spelled out as on a terminal, and called data.
"""
