-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits or STRING with a collation, or CHAR(n); this query finds these columns:
-- DESCRIBE TABLE IDENTIFIER('customers')
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
CREATE VIEW `shop`.`customers_clusters` AS
SELECT
  *,
  CASE
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` > 0.5
      AND `paid` <= DOUBLE('Infinity')
      THEN 4
    WHEN `contract` = ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p') THEN 2
    WHEN `contract` = 'Two year' AND `months` <= 12 THEN 0
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` <= 0.5
      THEN 3
    WHEN `contract` = 'Two year' AND `months` > 12 AND `months` <= DOUBLE('Infinity') THEN 1
  END AS `cluster`
FROM `shop`.`customers`

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits or STRING with a collation, or CHAR(n); this query finds these columns:
-- DESCRIBE TABLE IDENTIFIER('customers')
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
CREATE TABLE `shop`.`customers_clusters` AS
SELECT
  *,
  CAST(
    CASE
      WHEN
        `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
        AND `paid` > 0.5
        AND `paid` <= DOUBLE('Infinity')
        THEN 4
      WHEN `contract` = ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p') THEN 2
      WHEN `contract` = 'Two year' AND `months` <= 12 THEN 0
      WHEN
        `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
        AND `paid` <= 0.5
        THEN 3
      WHEN `contract` = 'Two year' AND `months` > 12 AND `months` <= DOUBLE('Infinity') THEN 1
    END AS TINYINT
  ) AS `cluster`
FROM `shop`.`customers`

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits or STRING with a collation, or CHAR(n); this query finds these columns:
-- DESCRIBE TABLE IDENTIFIER('customers')
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
UPDATE `shop`.`customers`
SET
  `cluster` = CASE
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` > 0.5
      AND `paid` <= DOUBLE('Infinity')
      THEN 4
    WHEN `contract` = ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p') THEN 2
    WHEN `contract` = 'Two year' AND `months` <= 12 THEN 0
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` <= 0.5
      THEN 3
    WHEN `contract` = 'Two year' AND `months` > 12 AND `months` <= DOUBLE('Infinity') THEN 1
  END
WHERE
  NOT (`cluster` <=> CASE
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` > 0.5
      AND `paid` <= DOUBLE('Infinity')
      THEN 4
    WHEN `contract` = ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p') THEN 2
    WHEN `contract` = 'Two year' AND `months` <= 12 THEN 0
    WHEN
      `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
      AND `paid` <= 0.5
      THEN 3
    WHEN `contract` = 'Two year' AND `months` > 12 AND `months` <= DOUBLE('Infinity') THEN 1
  END)

-- dialect 'spark' has no style 'column': the database is not known to accept the rules as a computed column; make a view

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is counted as a row without a cluster.
-- May differ from the tree on DECIMAL values of more than 15 digits or STRING with a collation, or CHAR(n); this query finds these columns:
-- DESCRIBE TABLE IDENTIFIER('customers')
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
-- Rows by cluster compared with training; -1 stands for rows without a cluster, of which training had none.
WITH `labelled` AS (
  SELECT
    COALESCE(CASE
      WHEN
        `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
        AND `paid` > 0.5
        AND `paid` <= DOUBLE('Infinity')
        THEN 4
      WHEN `contract` = ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p') THEN 2
      WHEN `contract` = 'Two year' AND `months` <= 12 THEN 0
      WHEN
        `contract` NOT IN ('Two year', ('it' || CHAR(39) || 's "q" ' || CHAR(92) || ' `b` %s :p'))
        AND `paid` <= 0.5
        THEN 3
      WHEN `contract` = 'Two year' AND `months` > 12 AND `months` <= DOUBLE('Infinity') THEN 1
    END, -1) AS `label`
  FROM `shop`.`customers`
),

`counts` AS (
  SELECT
    `label`,
    COUNT(*) AS `n`
  FROM `labelled`
  GROUP BY `label`
),

`total` AS (
  SELECT SUM(`n`) AS `n`
  FROM `counts`
),

`training` AS (
  SELECT
    4 AS `label`,
    '4' AS `title`,
    97 AS `n`,
    0.293939 AS `share`
  UNION ALL
  SELECT
    2 AS `label`,
    '2' AS `title`,
    86 AS `n`,
    0.260606 AS `share`
  UNION ALL
  SELECT
    0 AS `label`,
    '0' AS `title`,
    75 AS `n`,
    0.227273 AS `share`
  UNION ALL
  SELECT
    3 AS `label`,
    '3' AS `title`,
    60 AS `n`,
    0.181818 AS `share`
  UNION ALL
  SELECT
    1 AS `label`,
    '1' AS `title`,
    12 AS `n`,
    0.036364 AS `share`
  UNION ALL
  SELECT
    -1 AS `label`,
    'without a cluster' AS `title`,
    0 AS `n`,
    0.0 AS `share`
),

`found` AS (
  SELECT
    `training`.`label`,
    `training`.`title`,
    `training`.`share` AS `share_in_training`,
    COALESCE(`counts`.`n`, 0) AS `n`
  FROM `training`
  LEFT JOIN `counts` ON `training`.`label` = `counts`.`label`
),

`shares` AS (
  SELECT
    `found`.*,
    `found`.`n` * 1.0 / NULLIF(`total`.`n`, 0) AS `share_found`
  FROM `found`
  CROSS JOIN `total`
)

SELECT
  `label` AS `cluster`,
  `title`,
  `n` AS `rows_found`,
  `share_found`,
  `share_in_training`,
  `share_found` - `share_in_training` AS `shift`
FROM `shares`
ORDER BY `share_in_training` DESC, `label` ASC
