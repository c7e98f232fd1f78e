"""Services of the user's own: started as typed, contained, or running already."""
