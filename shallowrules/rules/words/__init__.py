"""Rules as people read, name, compare and edit them."""
