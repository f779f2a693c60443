"""What a line is by itself: its blocks and texts, its role, its category, who speaks."""
