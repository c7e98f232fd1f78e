"""The contract between programs and files, as JSON Schema; generated, committed, never edited.

`python -m sojourn.schema` (`make schema`) writes it anew from the code.
"""
