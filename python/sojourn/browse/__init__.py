"""What people and programs look at of many records: entries, curves, commands.

    entries    one record in short: what a list shows of it
    index      all of them, read once and stored in the user's cache
    choose     those that a search and its filters leave
    curves     a record's runs as latency against load
    commands   what to type to see a number's runs, or to make it again
    narrowing  how the search for the highest load came to its interval
    notes      what a person wrote about a record
    words      points and outcomes in a few words
    priority   runs only where no measurement wants to

`sojourn view`, `sojourn mcp` and `sojourn.open` show it. Nothing here writes into a record.
"""
