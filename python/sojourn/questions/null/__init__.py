"""Nothing: a question that asks for no point."""
