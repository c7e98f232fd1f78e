"""What a study found: the types that are common to all questions."""
