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
