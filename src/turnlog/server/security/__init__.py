"""Who may ask, from where, and how much."""
