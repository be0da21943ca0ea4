-- Written by shallowrules 0.1.0 from the rules with SHA-256 4f39eb2315546eaa6067e59b6fab5b50285c186736a48cf1e6502875337f921e.
-- 7,043 rows, 5 clusters; k-means cost 1.023 times that of the clusters without rules; 89.0 % of the rows in the same cluster as there.
-- A missing value of "TotalCharges" counts as 1397.3.
-- A rule that tests another column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.
-- May differ from the tree on a collation that takes different texts for equal; this finds such columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'telco_customer_churn' AND (collation_name IS NOT NULL)
-- NaN may get a cluster: ANSI SQL does not say how it compares. If there is any, name the database's dialect.

-- cluster 3 (Fiber optic, low TotalCharges): 1,814 rows, 25.8 %
"InternetService" = 'Fiber optic'
  AND ("TotalCharges" IS NULL OR TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') OR LOWER(TRIM(CAST("TotalCharges" AS VARCHAR))) IN ('nan', '+nan', '-nan') OR CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END <= 3600.0e0)

-- cluster 1 (InternetService No): 1,526 rows, 21.7 %
"InternetService" NOT IN ('Fiber optic', 'DSL')

-- cluster 2 (Fiber optic, high TotalCharges): 1,282 rows, 18.2 %
"InternetService" = 'Fiber optic'
  AND CASE WHEN TRIM(CAST("TotalCharges" AS VARCHAR)) IN ('') THEN NULL ELSE CAST(TRIM(CAST("TotalCharges" AS VARCHAR)) AS DOUBLE PRECISION) END > 3600.0e0

-- cluster 0 (DSL, Month-to-month): 1,223 rows, 17.4 %
"InternetService" = 'DSL' AND "Contract" = 'Month-to-month'

-- cluster 4 (DSL, Two year or One year): 1,198 rows, 17.0 %
"InternetService" = 'DSL' AND "Contract" <> 'Month-to-month'
