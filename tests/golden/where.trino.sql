-- cluster 1: 146 rows, 41.8 %
(
  ("alcohol" > 12.85e0 AND "alcohol" <= infinity() AND "colour intensity (%)" <= 1e-07)
  OR ("alcohol" <= 12.85e0 AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" > -0.25e0 AND "odd ""name"" `x` | <b>
-- */" <= infinity())
)

-- cluster 4: 105 rows, 30.1 %
(
  ("alcohol" > 12.85e0 AND "alcohol" <= infinity() AND "colour intensity (%)" > 3.5e0 AND "colour intensity (%)" <= infinity())
  OR ("alcohol" > 12.85e0 AND "alcohol" <= infinity() AND "colour intensity (%)" > 1e-07 AND "colour intensity (%)" <= 3.5e0)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
"alcohol" <= 12.85e0 AND "order" > 1200 AND "order" <= infinity()

-- cluster 0 (small orders): 12 rows, 3.4 %
"alcohol" <= 12.85e0 AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" <= -0.25e0
