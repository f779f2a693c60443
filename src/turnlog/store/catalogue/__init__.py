"""What is asked across sessions, in SQL that SQLite and PostgreSQL share; what differs is in a module for each."""
