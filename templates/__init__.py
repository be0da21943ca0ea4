"""The shipped jinja2 templates; `shallowrules.exporters.rendering` loads them."""
