-- cluster 1: 146 rows, 41.8 %
-- cluster 4: 105 rows, 30.1 %
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
-- cluster 0 (small orders): 12 rows, 3.4 %
SELECT
  *,
  CASE
    WHEN toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) <= 1e-07 THEN 1
    WHEN toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" <= 1200 AND toFloat64OrNull(toString("odd ""name"" `x` | <b>
-- */" + 0)) > -0.25e0 THEN 1
    WHEN toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) > 3.5e0 THEN 4
    WHEN toFloat64OrNull(toString("alcohol" + 0)) > 12.85e0 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) > 1e-07 AND toFloat64OrNull(toString("colour intensity (%)" + 0)) <= 3.5e0 THEN 4
    WHEN toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" > 1200 THEN 2
    WHEN toFloat64OrNull(toString("alcohol" + 0)) <= 12.85e0 AND "order" <= 1200 AND toFloat64OrNull(toString("odd ""name"" `x` | <b>
-- */" + 0)) <= -0.25e0 THEN 0
  END AS "cluster"
FROM "shop"."customers"
