"""``python -m shallowrules``: the command line."""

from shallowrules.cli import script

if __name__ == "__main__":
    script()
