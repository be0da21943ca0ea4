-- Written by shallowrules 0.2.0 from the rules with SHA-256 d807141fb0939c2d7deb2c9f5170aefd203d418c50d2642937bc72d921bb42ca.
-- 349 rows, 4 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is counted as a row without a cluster.
-- cluster 1: 146 rows, 41.8%
-- cluster 4: 105 rows, 30.1%
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6%
-- cluster 0 (small orders): 12 rows, 3.4%
-- Run this once the table is loaded: rows by cluster, compared with training; rows without a cluster; and texts in tested
-- columns that did not occur in training, without the spaces around them.
WITH `labels` AS (
  SELECT
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
    END AS `label`
  FROM `shop`.`customers`
),

`counts` AS (
  SELECT
    `label`,
    COUNT(*) AS `n`
  FROM `labels`
  GROUP BY `label`
),

`total` AS (
  SELECT SUM(`n`) AS `n`
  FROM `counts`
),

`training` AS (
  SELECT
    1 AS `label`,
    '1' AS `title`,
    146 AS `n`,
    0.418338 AS `share`
  UNION ALL
  SELECT
    4 AS `label`,
    '4' AS `title`,
    105 AS `n`,
    0.300860 AS `share`
  UNION ALL
  SELECT
    2 AS `label`,
    '2 (#2 *large* -- DROP)' AS `title`,
    86 AS `n`,
    0.246418 AS `share`
  UNION ALL
  SELECT
    0 AS `label`,
    '0 (small orders)' AS `title`,
    12 AS `n`,
    0.034384 AS `share`
),

`findings` AS (
  SELECT
    'rows of a cluster' AS `finding`,
    `training`.`title` AS `value`,
    `training`.`n` AS `rows_in_training`,
    `training`.`share` AS `share_in_training`,
    COALESCE(`counts`.`n`, 0) AS `rows_found`
  FROM `training`
  LEFT JOIN `counts` ON `training`.`label` = `counts`.`label`
  UNION ALL
  SELECT
    'rows without a cluster' AS `finding`,
    '-' AS `value`,
    0 AS `rows_in_training`,
    0.0 AS `share_in_training`,
    COALESCE(SUM(`n`), 0) AS `rows_found`
  FROM `counts`
  WHERE `label` IS NULL
),

`shares` AS (
  SELECT
    `findings`.*,
    `findings`.`rows_found` * 1.0 / NULLIF(`total`.`n`, 0) AS `share_found`
  FROM `findings`
  CROSS JOIN `total`
)

SELECT
  `finding`,
  `value`,
  `rows_found`,
  `rows_in_training`,
  `share_found`,
  `share_in_training`
FROM `shares`
ORDER BY `rows_in_training` DESC, `finding` DESC, `rows_found` DESC, `value` ASC
