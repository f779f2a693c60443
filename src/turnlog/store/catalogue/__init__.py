"""What is asked across sessions, in SQL that SQLite and PostgreSQL share."""
