-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on a YEAR, or DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = _utf8mb4 'data' AND (data_type = 'year' OR numeric_precision > 15 AND numeric_scale > 0)
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Two year' AS BINARY), CAST(_utf8mb4 'One year' AS BINARY))
    AND CAST(CONVERT(`pay ment` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Mailed check' AS BINARY), CAST(CONCAT(_utf8mb4 'it''s "auto" | ', CHAR(92 USING utf8mb4)) AS BINARY))
    AND `months` <= 12
    THEN 2
  WHEN `contract` = _utf8mb4 'One year' AND CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) = CAST(_utf8mb4 'One year' AS BINARY) THEN 2
  WHEN
    `contract` = _utf8mb4 'Two year' AND CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) = CAST(_utf8mb4 'Two year' AS BINARY)
    AND CASE WHEN COERCIBILITY(COALESCE(`paid`, 0)) = 5 THEN `paid` + 0 IN (0) ELSE CAST(CONVERT(LOWER(TRIM(CONVERT(`paid` USING utf8mb4))) USING utf8mb4) AS BINARY) IN (CAST(_utf8mb4 'false' AS BINARY), CAST(_utf8mb4 'f' AS BINARY), CAST(_utf8mb4 '0' AS BINARY), CAST(_utf8mb4 '0.0' AS BINARY)) END
    THEN 4
  WHEN
    `contract` = _utf8mb4 'Two year' AND CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) = CAST(_utf8mb4 'Two year' AS BINARY)
    AND CASE WHEN COERCIBILITY(COALESCE(`paid`, 0)) = 5 THEN `paid` + 0 IN (1) ELSE CAST(CONVERT(LOWER(TRIM(CONVERT(`paid` USING utf8mb4))) USING utf8mb4) AS BINARY) IN (CAST(_utf8mb4 'true' AS BINARY), CAST(_utf8mb4 't' AS BINARY), CAST(_utf8mb4 '1' AS BINARY), CAST(_utf8mb4 '1.0' AS BINARY)) END
    AND CAST(CONVERT(`size` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'S' AS BINARY), CAST(_utf8mb4 'M' AS BINARY))
    THEN 4
  WHEN
    CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Two year' AS BINARY), CAST(_utf8mb4 'One year' AS BINARY))
    AND `pay ment` = _utf8mb4 'Mailed check' AND CAST(CONVERT(`pay ment` USING utf8mb4) AS BINARY) = CAST(_utf8mb4 'Mailed check' AS BINARY)
    THEN 0
  WHEN
    `contract` = _utf8mb4 'Two year' AND CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) = CAST(_utf8mb4 'Two year' AS BINARY)
    AND CASE WHEN COERCIBILITY(COALESCE(`paid`, 0)) = 5 THEN `paid` + 0 IN (1) ELSE CAST(CONVERT(LOWER(TRIM(CONVERT(`paid` USING utf8mb4))) USING utf8mb4) AS BINARY) IN (CAST(_utf8mb4 'true' AS BINARY), CAST(_utf8mb4 't' AS BINARY), CAST(_utf8mb4 '1' AS BINARY), CAST(_utf8mb4 '1.0' AS BINARY)) END
    AND `size` IN (_utf8mb4 'S', _utf8mb4 'M') AND CAST(CONVERT(`size` USING utf8mb4) AS BINARY) IN (CAST(_utf8mb4 'S' AS BINARY), CAST(_utf8mb4 'M' AS BINARY))
    THEN 0
  WHEN
    CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Two year' AS BINARY), CAST(_utf8mb4 'One year' AS BINARY))
    AND CAST(CONVERT(`pay ment` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Mailed check' AS BINARY), CAST(CONCAT(_utf8mb4 'it''s "auto" | ', CHAR(92 USING utf8mb4)) AS BINARY))
    AND `months` > 12
    THEN 3
  WHEN
    CAST(CONVERT(`contract` USING utf8mb4) AS BINARY) NOT IN (CAST(_utf8mb4 'Two year' AS BINARY), CAST(_utf8mb4 'One year' AS BINARY))
    AND `pay ment` = CONCAT(_utf8mb4 'it''s "auto" | ', CHAR(92 USING utf8mb4)) AND CAST(CONVERT(`pay ment` USING utf8mb4) AS BINARY) = CAST(CONCAT(_utf8mb4 'it''s "auto" | ', CHAR(92 USING utf8mb4)) AS BINARY)
    THEN 1
END
