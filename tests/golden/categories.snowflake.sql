-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on NUMBER values of more than 15 digits or a column or database with a collation; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'data' AND (numeric_precision > 15 AND numeric_scale > 0 OR collation_name IS NOT NULL)
-- A truth value in a column of decimals, 1.00, is neither true nor false: cast the column to whole numbers.
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    "contract" NOT IN ('Two year', 'One year')
    AND "pay ment" NOT IN ('Mailed check', 'it\'s "auto" | \\')
    AND "months" <= 12
    THEN 2
  WHEN "contract" = 'One year' THEN 2
  WHEN
    "contract" = 'Two year'
    AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('false', 'f', '0', '0.0')
    THEN 4
  WHEN
    "contract" = 'Two year'
    AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('true', 't', '1', '1.0')
    AND "size" NOT IN ('S', 'M')
    THEN 4
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" = 'Mailed check' THEN 0
  WHEN
    "contract" = 'Two year'
    AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('true', 't', '1', '1.0')
    AND "size" IN ('S', 'M')
    THEN 0
  WHEN
    "contract" NOT IN ('Two year', 'One year')
    AND "pay ment" NOT IN ('Mailed check', 'it\'s "auto" | \\')
    AND "months" > 12
    AND "months" <= CAST('inf' AS DOUBLE)
    THEN 3
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" = 'it\'s "auto" | \\' THEN 1
END
