-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits or STRING with a collation, or CHAR(n); this query finds these columns:
-- DESCRIBE TABLE IDENTIFIER('data')
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    `contract` NOT IN ('Two year', 'One year')
    AND `pay ment` NOT IN ('Mailed check', ('it' || CHAR(39) || 's "auto" | ' || CHAR(92)))
    AND `months` <= 12
    THEN 2
  WHEN `contract` = 'One year' THEN 2
  WHEN
    `contract` = 'Two year'
    AND CASE WHEN TYPEOF(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (0) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) COLLATE UTF8_BINARY IN ('false', 'f', '0', '0.0') END
    THEN 4
  WHEN
    `contract` = 'Two year'
    AND CASE WHEN TYPEOF(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (1) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) COLLATE UTF8_BINARY IN ('true', 't', '1', '1.0') END
    AND `size` NOT IN ('S', 'M')
    THEN 4
  WHEN `contract` NOT IN ('Two year', 'One year') AND `pay ment` = 'Mailed check' THEN 0
  WHEN
    `contract` = 'Two year'
    AND CASE WHEN TYPEOF(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (1) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) COLLATE UTF8_BINARY IN ('true', 't', '1', '1.0') END
    AND `size` IN ('S', 'M')
    THEN 0
  WHEN
    `contract` NOT IN ('Two year', 'One year')
    AND `pay ment` NOT IN ('Mailed check', ('it' || CHAR(39) || 's "auto" | ' || CHAR(92)))
    AND `months` > 12
    AND `months` <= DOUBLE('Infinity')
    THEN 3
  WHEN
    `contract` NOT IN ('Two year', 'One year')
    AND `pay ment` = ('it' || CHAR(39) || 's "auto" | ' || CHAR(92))
    THEN 1
END
