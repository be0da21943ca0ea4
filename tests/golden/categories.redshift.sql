-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on NUMERIC values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'data' AND (numeric_precision > 15 AND numeric_scale > 0)
-- A truth value in a column of decimals, 1.00, is neither true nor false: cast the column to whole numbers.
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Two year' AS VARBYTE), CAST('One year' AS VARBYTE))
    AND CAST(CAST("pay ment" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Mailed check' AS VARBYTE), CAST(('it''s "auto" | ' || CHR(92)) AS VARBYTE))
    AND "months" <= 12
    AND "months" >= -CAST('Infinity' AS DOUBLE PRECISION)
    THEN 2
  WHEN "contract" = 'One year' AND CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) = CAST('One year' AS VARBYTE) THEN 2
  WHEN
    "contract" = 'Two year' AND CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) = CAST('Two year' AS VARBYTE)
    AND CAST(CAST(LOWER(TRIM(REPLACE(JSON_SERIALIZE(CAST("paid" AS SUPER)), '"', ''))) AS VARCHAR(65535)) AS VARBYTE) IN (CAST('false' AS VARBYTE), CAST('f' AS VARBYTE), CAST('0' AS VARBYTE), CAST('0.0' AS VARBYTE))
    THEN 4
  WHEN
    "contract" = 'Two year' AND CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) = CAST('Two year' AS VARBYTE)
    AND CAST(CAST(LOWER(TRIM(REPLACE(JSON_SERIALIZE(CAST("paid" AS SUPER)), '"', ''))) AS VARCHAR(65535)) AS VARBYTE) IN (CAST('true' AS VARBYTE), CAST('t' AS VARBYTE), CAST('1' AS VARBYTE), CAST('1.0' AS VARBYTE))
    AND CAST(CAST("size" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('S' AS VARBYTE), CAST('M' AS VARBYTE))
    THEN 4
  WHEN
    CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Two year' AS VARBYTE), CAST('One year' AS VARBYTE))
    AND "pay ment" = 'Mailed check' AND CAST(CAST("pay ment" AS VARCHAR(65535)) AS VARBYTE) = CAST('Mailed check' AS VARBYTE)
    THEN 0
  WHEN
    "contract" = 'Two year' AND CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) = CAST('Two year' AS VARBYTE)
    AND CAST(CAST(LOWER(TRIM(REPLACE(JSON_SERIALIZE(CAST("paid" AS SUPER)), '"', ''))) AS VARCHAR(65535)) AS VARBYTE) IN (CAST('true' AS VARBYTE), CAST('t' AS VARBYTE), CAST('1' AS VARBYTE), CAST('1.0' AS VARBYTE))
    AND "size" IN ('S', 'M') AND CAST(CAST("size" AS VARCHAR(65535)) AS VARBYTE) IN (CAST('S' AS VARBYTE), CAST('M' AS VARBYTE))
    THEN 0
  WHEN
    CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Two year' AS VARBYTE), CAST('One year' AS VARBYTE))
    AND CAST(CAST("pay ment" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Mailed check' AS VARBYTE), CAST(('it''s "auto" | ' || CHR(92)) AS VARBYTE))
    AND "months" > 12
    AND "months" <= CAST('Infinity' AS DOUBLE PRECISION)
    THEN 3
  WHEN
    CAST(CAST("contract" AS VARCHAR(65535)) AS VARBYTE) NOT IN (CAST('Two year' AS VARBYTE), CAST('One year' AS VARBYTE))
    AND "pay ment" = ('it''s "auto" | ' || CHR(92)) AND CAST(CAST("pay ment" AS VARCHAR(65535)) AS VARBYTE) = CAST(('it''s "auto" | ' || CHR(92)) AS VARBYTE)
    THEN 1
END
