-- Written by shallowrules 0.1.0 from the rules with SHA-256 00537c80176a209f76f222de9478a8bd8ad9acc6f395f80d6616688290286f7f.
-- 4,521 rows, 5 clusters; k-means cost 0.999 times that of the clusters without rules; 78.2 % of the rows in the same cluster as there.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.

-- cluster 0: 1,275 rows, 28.2 %
"education" <> 'tertiary' AND "housing" = 'no'

-- cluster 3: 1,115 rows, 24.7 %
"education" <> 'tertiary' AND "housing" <> 'no' AND "contact" <> 'unknown'

-- cluster 1: 781 rows, 17.3 %
"education" <> 'tertiary' AND "housing" <> 'no' AND "contact" = 'unknown'

-- cluster 4: 687 rows, 15.2 %
"education" = 'tertiary' AND "housing" = 'no'

-- cluster 2: 663 rows, 14.7 %
"education" = 'tertiary' AND "housing" <> 'no'
