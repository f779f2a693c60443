"""Sample sessions of our own, for people who have none yet: made up, and some of them played live."""

from turnlog.demo.installing import install, play_live

__all__ = ["install", "play_live"]
