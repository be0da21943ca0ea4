-- cluster 0: 1,172 rows, 25.9 %
"housing" <> 'yes' AND "marital" = 'married'

-- cluster 3: 1,115 rows, 24.7 %
"housing" = 'yes' AND "contact" <> 'unknown' AND "education" <> 'tertiary'

-- cluster 1: 969 rows, 21.4 %
"housing" = 'yes' AND "contact" = 'unknown'

-- cluster 4: 790 rows, 17.5 %
"housing" <> 'yes' AND "marital" <> 'married'

-- cluster 2: 475 rows, 10.5 %
"housing" = 'yes' AND "contact" <> 'unknown' AND "education" = 'tertiary'
