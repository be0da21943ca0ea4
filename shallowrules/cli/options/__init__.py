"""Options of the commands, and their settings."""
