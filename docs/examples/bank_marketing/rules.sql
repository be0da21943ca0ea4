-- Written by shallowrules 0.1.0 from the rules with SHA-256 8b688cb9d5246db180dac59aee62af3f0a0f5d3b2de5cdcb4e629ea734cdbcfd.
-- 4,521 rows, 5 clusters; k-means cost 0.999 times that of the clusters without rules; 78.2 % of the rows in the same cluster as there.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.

-- cluster 0 (not tertiary, housing no): 1,275 rows, 28.2 %
"education" <> 'tertiary' AND "housing" = 'no'

-- cluster 3 (housing yes, cellular or telephone): 1,115 rows, 24.7 %
"education" <> 'tertiary' AND "housing" <> 'no' AND "contact" <> 'unknown'

-- cluster 1 (housing yes, contact unknown): 781 rows, 17.3 %
"education" <> 'tertiary' AND "housing" <> 'no' AND "contact" = 'unknown'

-- cluster 4 (tertiary, housing no): 687 rows, 15.2 %
"education" = 'tertiary' AND "housing" = 'no'

-- cluster 2 (tertiary, housing yes): 663 rows, 14.7 %
"education" = 'tertiary' AND "housing" <> 'no'
