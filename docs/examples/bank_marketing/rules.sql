-- Written by shallowrules 0.2.0 from the rules with SHA-256 d0529af5a13cbbaa0d0110d2eb982668e7d6e132ac0cdb879d8cf41c0cacc693.
-- 4,521 rows, 5 clusters; k-means cost 1.010 times that of the clusters without rules; 63.4% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.
-- May differ from the tree on NUMERIC values of more than 15 digits or a collation that treats different texts as equal; this query finds these columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'bank_marketing' AND (numeric_precision > 15 AND numeric_scale > 0 OR collation_name IS NOT NULL)

-- cluster 3 (housing no, married or divorced): 1,198 rows, 26.5%
"pdays" <= 6 AND "housing" = 'no' AND "marital" <> 'single'

-- cluster 0 (housing yes, cellular or telephone): 1,084 rows, 24.0%
"pdays" <= 6 AND "housing" <> 'no' AND "contact" <> 'unknown'

-- cluster 4 (housing yes, contact unknown): 961 rows, 21.3%
"pdays" <= 6 AND "housing" <> 'no' AND "contact" = 'unknown'

-- cluster 1 (high pdays): 805 rows, 17.8%
"pdays" > 6

-- cluster 2 (housing no, single): 473 rows, 10.5%
"pdays" <= 6 AND "housing" = 'no' AND "marital" = 'single'
