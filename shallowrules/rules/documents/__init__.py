"""Rules and paths of rules as JSON documents."""
