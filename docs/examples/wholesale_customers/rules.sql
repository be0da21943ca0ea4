-- Written by shallowrules 0.1.0 from the rules with SHA-256 f404fd6baaae477d137becc4df62a2ddfe18c239b76fe229c63eaebb0c3b51a5.
-- 440 rows, 4 clusters; k-means cost 1.028 times that of the clusters without rules; 93.0 % of the rows in the same cluster as there.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.

-- cluster 0: 299 rows, 68.0 %
"Detergents_Paper" <= 4780 AND "Fresh" <= 23400

-- cluster 1: 74 rows, 16.8 %
"Detergents_Paper" > 4780 AND "Detergents_Paper" <= 17400 AND "Fresh" <= 23400

-- cluster 2: 57 rows, 13.0 %
"Detergents_Paper" <= 17400 AND "Fresh" > 23400

-- cluster 3: 10 rows, 2.3 %
"Detergents_Paper" > 17400
