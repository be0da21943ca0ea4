-- Written by shallowrules 0.1.0 from the rules with SHA-256 9166424298dd7724af9edd14f3ea0893b8ee4a94009bc62b9013666cf5459f67.
-- 4,521 rows, 5 clusters; k-means cost 0.998 times that of the clusters without rules; 77.4 % of the rows in the same cluster as there.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.
-- May differ from the tree on a collation that takes different texts for equal; this finds such columns:
-- SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'bank_marketing' AND (collation_name IS NOT NULL)

-- cluster 0 (housing no, not tertiary): 1,275 rows, 28.2 %
"housing" = 'no' AND "education" <> 'tertiary'

-- cluster 3 (housing yes, not tertiary): 1,115 rows, 24.7 %
"housing" <> 'no' AND "contact" <> 'unknown' AND "education" <> 'tertiary'

-- cluster 1 (housing yes, contact unknown): 969 rows, 21.4 %
"housing" <> 'no' AND "contact" = 'unknown'

-- cluster 4 (housing no, tertiary): 687 rows, 15.2 %
"housing" = 'no' AND "education" = 'tertiary'

-- cluster 2 (housing yes, tertiary): 475 rows, 10.5 %
"housing" <> 'no' AND "contact" <> 'unknown' AND "education" = 'tertiary'
