"""What a store must keep to, by subject; `turnlog.testing.store_contract` puts it together."""

__all__: list[str] = []
