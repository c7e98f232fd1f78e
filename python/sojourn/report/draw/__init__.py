"""What the kinds of figure share: axes, marks, colours, tables, and the curve against load."""
