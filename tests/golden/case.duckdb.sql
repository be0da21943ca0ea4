-- cluster 1: 146 rows, 41.8 %
-- cluster 4: 105 rows, 30.1 %
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
-- cluster 0 (small orders): 12 rows, 3.4 %
CASE
  WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" <= 1e-07 AND (isfinite("colour intensity (%)") OR isinf("colour intensity (%)")) THEN 1
  WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" <= 1200 AND (isfinite("order") OR isinf("order")) AND "odd ""name"" `x` | <b>
-- */" > -0.25e0 AND (isfinite("odd ""name"" `x` | <b>
-- */") OR isinf("odd ""name"" `x` | <b>
-- */")) THEN 1
  WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" > 3.5e0 AND (isfinite("colour intensity (%)") OR isinf("colour intensity (%)")) THEN 4
  WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" > 1e-07 AND "colour intensity (%)" <= 3.5e0 AND isfinite("colour intensity (%)") THEN 4
  WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" > 1200 AND (isfinite("order") OR isinf("order")) THEN 2
  WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" <= 1200 AND (isfinite("order") OR isinf("order")) AND "odd ""name"" `x` | <b>
-- */" <= -0.25e0 AND (isfinite("odd ""name"" `x` | <b>
-- */") OR isinf("odd ""name"" `x` | <b>
-- */")) THEN 0
END
