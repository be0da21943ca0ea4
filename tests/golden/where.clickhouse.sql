-- cluster 1: 146 rows, 41.8 %
(
  (toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) <= 1e-07)
  OR (toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" <= 1200 AND toFloat64OrNull(toString("odd ""name"" `x` | <b>
-- */" + 0)) > -0.25e0)
)

-- cluster 4: 105 rows, 30.1 %
(
  (toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) > 3.5e0)
  OR (toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) > 1e-07 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) <= 3.5e0)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" > 1200

-- cluster 0 (small orders): 12 rows, 3.4 %
toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" <= 1200 AND toFloat64OrNull(toString("odd ""name"" `x` | <b>
-- */" + 0)) <= -0.25e0
