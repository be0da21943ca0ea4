-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = N'customers' AND (numeric_precision > 15 AND numeric_scale > 0)
-- Parsed, not executed: try it on a copy first.
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
CREATE VIEW [shop].[customers_clusters] AS
SELECT
  *,
  CASE
    WHEN
      CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
      AND [paid] > 0.5e0
      THEN 4
    WHEN [contract] = N'it''s "q" \ `b` %s :p' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)) THEN 2
    WHEN
      [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
      AND [months] <= 12
      THEN 0
    WHEN
      CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
      AND [paid] <= 0.5e0
      THEN 3
    WHEN
      [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
      AND [months] > 12
      THEN 1
  END AS [cluster]
FROM [shop].[customers]

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = N'customers' AND (numeric_precision > 15 AND numeric_scale > 0)
-- Parsed, not executed: try it on a copy first.
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
SELECT *
INTO [shop].[customers_clusters]
FROM (
  SELECT
    *,
    CAST(
      CASE
        WHEN
          CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
          AND [paid] > 0.5e0
          THEN 4
        WHEN [contract] = N'it''s "q" \ `b` %s :p' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)) THEN 2
        WHEN
          [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
          AND [months] <= 12
          THEN 0
        WHEN
          CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
          AND [paid] <= 0.5e0
          THEN 3
        WHEN
          [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
          AND [months] > 12
          THEN 1
      END AS SMALLINT
    ) AS [cluster]
  FROM [shop].[customers]
) AS labelled

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = N'customers' AND (numeric_precision > 15 AND numeric_scale > 0)
-- Parsed, not executed: try it on a copy first.
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
UPDATE labelled
SET
  [cluster] = [cluster_new]
FROM (
  SELECT
    [cluster],
    CASE
      WHEN
        CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
        AND [paid] > 0.5e0
        THEN 4
      WHEN [contract] = N'it''s "q" \ `b` %s :p' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)) THEN 2
      WHEN
        [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
        AND [months] <= 12
        THEN 0
      WHEN
        CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
        AND [paid] <= 0.5e0
        THEN 3
      WHEN
        [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
        AND [months] > 12
        THEN 1
    END AS [cluster_new]
  FROM [shop].[customers]
) AS labelled
WHERE
  EXISTS (
    SELECT [cluster]
    EXCEPT
    SELECT [cluster_new]
  )

-- dialect 'tsql' has no style 'column': the database is not known to accept the rules as a computed column; make a view

-- Written by shallowrules 0.2.0 from the rules with SHA-256 af8d2d836ae0538210319af910117f5d16f5b6ebb0127c136c2ea1208d024383.
-- 330 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is counted as a row without a cluster.
-- May differ from the tree on DECIMAL values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = N'customers' AND (numeric_precision > 15 AND numeric_scale > 0)
-- cluster 4: 97 rows, 29.4%
-- cluster 2: 86 rows, 26.1%
-- cluster 0: 75 rows, 22.7%
-- cluster 3: 60 rows, 18.2%
-- cluster 1: 12 rows, 3.6%
-- Rows by cluster compared with training; -1 stands for rows without a cluster, of which training had none.
WITH [labelled] AS (
  SELECT
    COALESCE(CASE
      WHEN
        CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
        AND [paid] > 0.5e0
        THEN 4
      WHEN [contract] = N'it''s "q" \ `b` %s :p' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)) THEN 2
      WHEN
        [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
        AND [months] <= 12
        THEN 0
      WHEN
        CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) NOT IN (CAST(N'Two year' AS VARBINARY(MAX)), CAST(N'it''s "q" \ `b` %s :p' AS VARBINARY(MAX)))
        AND [paid] <= 0.5e0
        THEN 3
      WHEN
        [contract] = N'Two year' AND CAST(CAST([contract] AS NVARCHAR(MAX)) AS VARBINARY(MAX)) = CAST(N'Two year' AS VARBINARY(MAX))
        AND [months] > 12
        THEN 1
    END, -1) AS [label]
  FROM [shop].[customers]
),

[counts] AS (
  SELECT
    [label],
    COUNT(*) AS [n]
  FROM [labelled]
  GROUP BY [label]
),

[total] AS (
  SELECT SUM([n]) AS [n]
  FROM [counts]
),

[training] AS (
  SELECT
    4 AS [label],
    N'4' AS [title],
    97 AS [n],
    0.293939 AS [share]
  UNION ALL
  SELECT
    2 AS [label],
    N'2' AS [title],
    86 AS [n],
    0.260606 AS [share]
  UNION ALL
  SELECT
    0 AS [label],
    N'0' AS [title],
    75 AS [n],
    0.227273 AS [share]
  UNION ALL
  SELECT
    3 AS [label],
    N'3' AS [title],
    60 AS [n],
    0.181818 AS [share]
  UNION ALL
  SELECT
    1 AS [label],
    N'1' AS [title],
    12 AS [n],
    0.036364 AS [share]
  UNION ALL
  SELECT
    -1 AS [label],
    N'without a cluster' AS [title],
    0 AS [n],
    0.0 AS [share]
),

[found] AS (
  SELECT
    [training].[label],
    [training].[title],
    [training].[share] AS [share_in_training],
    COALESCE([counts].[n], 0) AS [n]
  FROM [training]
  LEFT JOIN [counts] ON [training].[label] = [counts].[label]
),

[shares] AS (
  SELECT
    [found].*,
    [found].[n] * 1.0 / NULLIF([total].[n], 0) AS [share_found]
  FROM [found]
  CROSS JOIN [total]
)

SELECT
  [label] AS [cluster],
  [title],
  [n] AS [rows_found],
  [share_found],
  [share_in_training],
  [share_found] - [share_in_training] AS [shift]
FROM [shares]
ORDER BY [share_in_training] DESC, [label] ASC
