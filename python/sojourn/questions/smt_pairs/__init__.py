"""What two services cost each other on one core."""
