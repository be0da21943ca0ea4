-- cluster 2: 142 rows, 40.6 %
-- cluster 4: 135 rows, 38.6 %
-- cluster 0 (small orders): 46 rows, 13.1 %
-- cluster 3: 19 rows, 5.4 %
-- cluster 1: 8 rows, 2.3 %
CASE
  WHEN CAST(`contract` AS STRING) NOT IN ('Two year', 'One year') AND CAST(`pay ment` AS STRING) NOT IN ('Mailed check', ('it' || char(39) || 's "auto" | ' || char(92))) AND `months` <= 12 THEN 2
  WHEN CAST(`contract` AS STRING) = 'One year' THEN 2
  WHEN CAST(`contract` AS STRING) = 'Two year' AND CASE WHEN typeof(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (0) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) IN ('false', 'f', '0', '0.0') END THEN 4
  WHEN CAST(`contract` AS STRING) = 'Two year' AND CASE WHEN typeof(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (1) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) IN ('true', 't', '1', '1.0') END AND CAST(`size` AS STRING) NOT IN ('S', 'M') THEN 4
  WHEN CAST(`contract` AS STRING) NOT IN ('Two year', 'One year') AND CAST(`pay ment` AS STRING) = 'Mailed check' THEN 0
  WHEN CAST(`contract` AS STRING) = 'Two year' AND CASE WHEN typeof(`paid`) LIKE 'decimal%' THEN TRY_CAST(`paid` AS DECIMAL(38, 37)) IN (1) ELSE CAST(LOWER(TRIM(CAST(`paid` AS STRING))) AS STRING) IN ('true', 't', '1', '1.0') END AND CAST(`size` AS STRING) IN ('S', 'M') THEN 0
  WHEN CAST(`contract` AS STRING) NOT IN ('Two year', 'One year') AND CAST(`pay ment` AS STRING) NOT IN ('Mailed check', ('it' || char(39) || 's "auto" | ' || char(92))) AND `months` > 12 AND `months` <= CAST('Infinity' AS DOUBLE) THEN 3
  WHEN CAST(`contract` AS STRING) NOT IN ('Two year', 'One year') AND CAST(`pay ment` AS STRING) = ('it' || char(39) || 's "auto" | ' || char(92)) THEN 1
END
