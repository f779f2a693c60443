"""The conversation in the lines of one file: messages, tree, turns."""
