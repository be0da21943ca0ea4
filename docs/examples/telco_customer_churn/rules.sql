-- Written by shallowrules 0.2.0 from the rules with SHA-256 221f35a6d1d52dcd1212b8f0866a2f7d967b88fcd6f89af008ecc2946982a83b.
-- 7,043 rows, 5 clusters; k-means cost 1.015 times that of the clusters without rules; 92.9% of rows in the same cluster.
-- A missing value of "TotalCharges" counts as 1397.3.
-- A rule that tests another column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.
-- May differ from the tree on a collation that treats different texts as equal; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'telco_customer_churn' AND (collation_name IS NOT NULL)
-- NaN may get a cluster, since ANSI SQL does not define how it compares. If a column has NaN, choose the database's dialect.

-- cluster 3 (Fiber optic, TotalCharges <= 3605.4): 1,815 rows, 25.8%
"InternetService" = 'Fiber optic'
  AND ("TotalCharges" IS NULL OR TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') OR LOWER(TRIM(CAST("TotalCharges" AS VARCHAR))) IN ('nan', '+nan', '-nan') OR CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END <= 3605.4e0)

-- cluster 1 (InternetService No): 1,526 rows, 21.7%
"InternetService" NOT IN ('Fiber optic', 'DSL')

-- cluster 0 (DSL, TotalCharges <= 2181.7): 1,415 rows, 20.1%
"InternetService" = 'DSL'
  AND ("TotalCharges" IS NULL OR TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') OR LOWER(TRIM(CAST("TotalCharges" AS VARCHAR))) IN ('nan', '+nan', '-nan') OR CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END <= 2181.7e0)

-- cluster 2 (Fiber optic, TotalCharges > 3605.4): 1,281 rows, 18.2%
"InternetService" = 'Fiber optic'
  AND CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END > 3605.4e0

-- cluster 4 (DSL, TotalCharges > 2181.7): 1,006 rows, 14.3%
"InternetService" = 'DSL'
  AND CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END > 2181.7e0
