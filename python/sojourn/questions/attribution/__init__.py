"""Which factor explains a quantile: its contribution, with the other factors held."""
