-- cluster 3: 1,759 rows, 25.0 %
"InternetService" = 'Fiber optic' AND COALESCE(CAST(NULLIF(TRIM(CAST("TotalCharges" AS VARCHAR)), '') AS DOUBLE PRECISION), 1397.3e0) <= 3401.0e0

-- cluster 1: 1,526 rows, 21.7 %
"InternetService" NOT IN ('Fiber optic', 'DSL')

-- cluster 2: 1,337 rows, 19.0 %
"InternetService" = 'Fiber optic' AND COALESCE(CAST(NULLIF(TRIM(CAST("TotalCharges" AS VARCHAR)), '') AS DOUBLE PRECISION), 1397.3e0) > 3401.0e0

-- cluster 0: 1,223 rows, 17.4 %
"InternetService" = 'DSL' AND "Contract" = 'Month-to-month'

-- cluster 4: 1,198 rows, 17.0 %
"InternetService" = 'DSL' AND "Contract" <> 'Month-to-month'
