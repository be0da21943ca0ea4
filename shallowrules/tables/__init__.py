"""Tables as typed raw columns: their values, how text is read as numbers and times, and labels."""
