"""What happens in the sample sessions; each is a function of the time at which it is shown."""

__all__: list[str] = []
