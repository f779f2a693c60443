"""Where an archive's bytes are, apart from its rows: in a folder, or in a bucket of S3-compatible storage."""

__all__: list[str] = []
