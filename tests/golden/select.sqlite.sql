-- Written by shallowrules 0.2.0 from the rules with SHA-256 d807141fb0939c2d7deb2c9f5170aefd203d418c50d2642937bc72d921bb42ca.
-- 349 rows, 4 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- cluster 1: 146 rows, 41.8%
-- cluster 4: 105 rows, 30.1%
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6%
-- cluster 0 (small orders): 12 rows, 3.4%
SELECT
  *,
  CASE
    WHEN
      `alcohol` > CAST(12.85 AS NUMERIC)
      AND `colour intensity (%)` <= CAST(1e-07 AS NUMERIC)
      AND `alcohol` <= CAST(9e999 AS NUMERIC)
      THEN 1
    WHEN
      `alcohol` <= CAST(12.85 AS NUMERIC)
      AND `order` <= CAST(1200 AS NUMERIC)
      AND `odd "name" ``x`` | <b>
-- */` > CAST(-0.25 AS NUMERIC)
      AND `odd "name" ``x`` | <b>
-- */` <= CAST(9e999 AS NUMERIC)
      THEN 1
    WHEN
      `alcohol` > CAST(12.85 AS NUMERIC)
      AND `colour intensity (%)` > CAST(3.5 AS NUMERIC)
      AND `alcohol` <= CAST(9e999 AS NUMERIC)
      AND `colour intensity (%)` <= CAST(9e999 AS NUMERIC)
      THEN 4
    WHEN
      `alcohol` > CAST(12.85 AS NUMERIC)
      AND `colour intensity (%)` > CAST(1e-07 AS NUMERIC)
      AND `colour intensity (%)` <= CAST(3.5 AS NUMERIC)
      AND `alcohol` <= CAST(9e999 AS NUMERIC)
      THEN 4
    WHEN
      `alcohol` <= CAST(12.85 AS NUMERIC)
      AND `order` > CAST(1200 AS NUMERIC)
      AND `order` <= CAST(9e999 AS NUMERIC)
      THEN 2
    WHEN
      `alcohol` <= CAST(12.85 AS NUMERIC)
      AND `order` <= CAST(1200 AS NUMERIC)
      AND `odd "name" ``x`` | <b>
-- */` <= CAST(-0.25 AS NUMERIC)
      THEN 0
  END AS `cluster`
FROM `shop`.`customers`
