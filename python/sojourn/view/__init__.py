"""`sojourn view`: a folder of results as pages in a browser, on this machine only.

    serve      binds to loopback, prints the address, sleeps until somebody asks
    app        which address shows what
    guard      who may ask: host, key, and what a page may do
    links      addresses of pages, which begin with the key
    listing    the list of records
    record     one record, its runs, and the comparison of several
    live       a record that is being measured, as its files change
    following  looks once for all pages of it, and not while load runs
    changes    sleeps until they do
    reports    the report of a record, computed once
    plot       lines and dots of a curve, as shares of a picture
    pages      templates

It only reads, but for notes (`browse.notes`). All names and texts are a stranger's: templates
escape them, and each page's policy allows the view's own script and style by their hashes.
"""
