-- cluster 1: 146 rows, 41.8 %
(
  ("alcohol" > 12.85d AND "alcohol" <= BINARY_DOUBLE_INFINITY AND "colour intensity (%)" <= 1e-07d)
  OR ("alcohol" <= 12.85d AND "order" <= 1200 AND "odd name `x` | <b>
-- */" > -0.25d AND "odd name `x` | <b>
-- */" <= BINARY_DOUBLE_INFINITY)
)

-- cluster 4: 105 rows, 30.1 %
(
  ("alcohol" > 12.85d AND "alcohol" <= BINARY_DOUBLE_INFINITY AND "colour intensity (%)" > 3.5d AND "colour intensity (%)" <= BINARY_DOUBLE_INFINITY)
  OR ("alcohol" > 12.85d AND "alcohol" <= BINARY_DOUBLE_INFINITY AND "colour intensity (%)" > 1e-07d AND "colour intensity (%)" <= 3.5d)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
"alcohol" <= 12.85d AND "order" > 1200 AND "order" <= BINARY_DOUBLE_INFINITY

-- cluster 0 (small orders): 12 rows, 3.4 %
"alcohol" <= 12.85d AND "order" <= 1200 AND "odd name `x` | <b>
-- */" <= -0.25d
