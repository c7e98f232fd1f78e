"""What it costs to apply and to lift each isolation mechanism."""
