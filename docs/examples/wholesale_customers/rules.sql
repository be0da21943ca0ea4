-- Written by shallowrules 0.2.0 from the rules with SHA-256 c2d77f81b5aff6f25603e83414ed4479b9d22e111d6dd36b665dc9affe1f778b.
-- 440 rows, 4 clusters; k-means cost 1.034 times that of the clusters without rules; 92.5% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.
-- May differ from the tree on NUMERIC values of more than 15 digits; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'wholesale_customers' AND (numeric_precision > 15 AND numeric_scale > 0)

-- cluster 0 (low Detergents_Paper, low Fresh): 302 rows, 68.6%
"Detergents_Paper" <= 5000 AND "Fresh" <= 23400

-- cluster 1 (medium Detergents_Paper): 72 rows, 16.4%
"Detergents_Paper" > 5000 AND "Detergents_Paper" <= 17400

-- cluster 2 (low Detergents_Paper, high Fresh): 56 rows, 12.7%
"Detergents_Paper" <= 5000 AND "Fresh" > 23400

-- cluster 3 (high Detergents_Paper): 10 rows, 2.3%
"Detergents_Paper" > 17400
