"""Keeping up: from files that grow, move and vanish to what the store has of them."""
