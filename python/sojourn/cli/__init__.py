"""The command line: parses, calls the pipeline, prints. The only package that prints or exits."""
