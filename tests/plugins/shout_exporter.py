"""A plugin as its author would write it: one short class."""

from dataclasses import dataclass


@dataclass
class ShoutOptions:
    mark: str = "!"


class ShoutExporter:
    name = "shout"
    file_extension = ".txt"
    media_type = "text/plain"
    options = ShoutOptions

    def export(self, rules, **options):
        mark = ShoutOptions(**options).mark
        return "".join(f"{rule.cluster}{mark}\n" for rule in rules)


class FailingExporter(ShoutExporter):
    """Fails inside export, with the error its option names."""

    name = "failing"

    def export(self, rules, **options):
        if options.get("mark") == "index":
            return [][0]
        raise TypeError("the plugin's own")


class NumberExporter(ShoutExporter):
    name = "number"

    def export(self, rules, **options):
        return 42


class MoodyExporter(ShoutExporter):
    """Gives a different text each time."""

    calls = 0

    def export(self, rules, **options):
        MoodyExporter.calls += 1
        return str(MoodyExporter.calls)


class FaultyExporter:
    name = "faulty"
    file_extension = "txt"
    media_type = "text"
    options = dict
