-- cluster 1: 146 rows, 41.8 %
-- cluster 4: 105 rows, 30.1 %
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
-- cluster 0 (small orders): 12 rows, 3.4 %
CASE
  WHEN "alcohol" > CAST('12.85' AS DOUBLE) AND "alcohol" <= CAST('inf' AS DOUBLE) AND "colour intensity (%)" <= CAST('1e-07' AS DOUBLE) THEN 1
  WHEN "alcohol" <= CAST('12.85' AS DOUBLE) AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" > CAST('-0.25' AS DOUBLE) AND "odd ""name"" `x` | <b>
-- */" <= CAST('inf' AS DOUBLE) THEN 1
  WHEN "alcohol" > CAST('12.85' AS DOUBLE) AND "alcohol" <= CAST('inf' AS DOUBLE) AND "colour intensity (%)" > CAST('3.5' AS DOUBLE) AND "colour intensity (%)" <= CAST('inf' AS DOUBLE) THEN 4
  WHEN "alcohol" > CAST('12.85' AS DOUBLE) AND "alcohol" <= CAST('inf' AS DOUBLE) AND "colour intensity (%)" > CAST('1e-07' AS DOUBLE) AND "colour intensity (%)" <= CAST('3.5' AS DOUBLE) THEN 4
  WHEN "alcohol" <= CAST('12.85' AS DOUBLE) AND "order" > 1200 AND "order" <= CAST('inf' AS DOUBLE) THEN 2
  WHEN "alcohol" <= CAST('12.85' AS DOUBLE) AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" <= CAST('-0.25' AS DOUBLE) THEN 0
END
