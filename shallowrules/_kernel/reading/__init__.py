"""What reads the bytes of files."""
