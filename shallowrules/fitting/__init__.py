"""The path of a table through one fit: prepare, grow, finish. Plain functions on plain data.

`preparing` decides how a table is clustered and clusters it, `growing` grows trees that follow the clustering, and
`finishing` makes one of them a `Fit`: thresholds, labels, rules, figures. `given_rules` measures rules that were not
grown from the table; `parts` fits a table in parts. `options` declares what may be asked of a fit.
"""
