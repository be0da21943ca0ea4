-- Written by shallowrules 0.2.0 from the rules with SHA-256 d807141fb0939c2d7deb2c9f5170aefd203d418c50d2642937bc72d921bb42ca.
-- 349 rows, 4 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on NUMERIC values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'customers' AND (numeric_precision > 15 AND numeric_scale > 0)
-- NaN may get a cluster, since ANSI SQL does not define how it compares. If a column has NaN, choose the database's dialect.
-- cluster 1: 146 rows, 41.8%
-- cluster 4: 105 rows, 30.1%
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6%
-- cluster 0 (small orders): 12 rows, 3.4%
CASE
  WHEN "alcohol" > 12.85e0 AND "colour intensity (%)" <= 1e-07 THEN 1
  WHEN
    "alcohol" <= 12.85e0 AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" > -0.25e0
    THEN 1
  WHEN "alcohol" > 12.85e0 AND "colour intensity (%)" > 3.5e0 THEN 4
  WHEN "alcohol" > 12.85e0 AND "colour intensity (%)" > 1e-07 AND "colour intensity (%)" <= 3.5e0 THEN 4
  WHEN "alcohol" <= 12.85e0 AND "order" > 1200 THEN 2
  WHEN
    "alcohol" <= 12.85e0 AND "order" <= 1200 AND "odd ""name"" `x` | <b>
-- */" <= -0.25e0
    THEN 0
END
