-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = N'data' AND (numeric_precision > 15 AND numeric_scale > 0)
-- A truth value in a column of decimals, 1.00, is neither true nor false: cast the column to whole numbers.
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'One year' AS VARBINARY(MAX)))
    AND CAST(CAST([pay ment] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Mailed check' AS VARBINARY(MAX)), CAST(N'it''s "auto" | \' AS VARBINARY(MAX)))
    AND [months] <= 12
    THEN 2
  WHEN [contract] = N'One year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'One year' AS VARBINARY(MAX)) THEN 2
  WHEN
    [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
    AND CAST(CAST(LOWER(TRIM(CONVERT(NVARCHAR(4000), [paid], 3))) AS NVARCHAR(MAX)) AS VARBINARY(MAX)) IN (CAST(N'false' AS VARBINARY(MAX)), CAST(N'f' AS VARBINARY(MAX)), CAST(N'0' AS VARBINARY(MAX)), CAST(N'0.0' AS VARBINARY(MAX)))
    THEN 4
  WHEN
    [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
    AND CAST(CAST(LOWER(TRIM(CONVERT(NVARCHAR(4000), [paid], 3))) AS NVARCHAR(MAX)) AS VARBINARY(MAX)) IN (CAST(N'true' AS VARBINARY(MAX)), CAST(N't' AS VARBINARY(MAX)), CAST(N'1' AS VARBINARY(MAX)), CAST(N'1.0' AS VARBINARY(MAX)))
    AND CAST(CAST([size] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'S' AS VARBINARY(MAX)), CAST(N'M' AS VARBINARY(MAX)))
    THEN 4
  WHEN
    CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'One year' AS VARBINARY(MAX)))
    AND [pay ment] = N'Mailed check' AND CAST(CAST([pay ment] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Mailed check' AS VARBINARY(MAX))
    THEN 0
  WHEN
    [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
    AND CAST(CAST(LOWER(TRIM(CONVERT(NVARCHAR(4000), [paid], 3))) AS NVARCHAR(MAX)) AS VARBINARY(MAX)) IN (CAST(N'true' AS VARBINARY(MAX)), CAST(N't' AS VARBINARY(MAX)), CAST(N'1' AS VARBINARY(MAX)), CAST(N'1.0' AS VARBINARY(MAX)))
    AND [size] IN (N'S', N'M') AND CAST(CAST([size] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) IN (CAST(N'S' AS VARBINARY(MAX)), CAST(N'M' AS VARBINARY(MAX)))
    THEN 0
  WHEN
    CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'One year' AS VARBINARY(MAX)))
    AND CAST(CAST([pay ment] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Mailed check' AS VARBINARY(MAX)), CAST(N'it''s "auto" | \' AS VARBINARY(MAX)))
    AND [months] > 12
    THEN 3
  WHEN
    CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'One year' AS VARBINARY(MAX)))
    AND [pay ment] = N'it''s "auto" | \' AND CAST(CAST([pay ment] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'it''s "auto" | \' AS VARBINARY(MAX))
    THEN 1
END
