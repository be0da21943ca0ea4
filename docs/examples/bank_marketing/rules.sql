-- Written by shallowrules 0.1.0 from the rules with SHA-256 4e82dbe6ad2065dedb98cb21618c0a65f774011bc11ee9d384c98b4e49c71e47.
-- 4,521 rows, 5 clusters; k-means cost 0.998 times that of the clusters without rules; 77.4 % of the rows in the same cluster as there.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.

-- cluster 0: 1,275 rows, 28.2 %
"housing" <> 'yes' AND "education" <> 'tertiary'

-- cluster 3: 1,115 rows, 24.7 %
"housing" = 'yes' AND "contact" <> 'unknown' AND "education" <> 'tertiary'

-- cluster 1: 969 rows, 21.4 %
"housing" = 'yes' AND "contact" = 'unknown'

-- cluster 4: 687 rows, 15.2 %
"housing" <> 'yes' AND "education" = 'tertiary'

-- cluster 2: 475 rows, 10.5 %
"housing" = 'yes' AND "contact" <> 'unknown' AND "education" = 'tertiary'
