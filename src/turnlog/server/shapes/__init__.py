"""What the API answers, as types: the OpenAPI schema and the page's TypeScript are made from these."""

__all__: list[str] = []
