-- cluster 0: 299 rows, 68.0 %
"Detergents_Paper" <= 4780 AND "Fresh" <= 23400

-- cluster 1: 74 rows, 16.8 %
"Detergents_Paper" > 4780 AND "Detergents_Paper" <= 17400 AND "Fresh" <= 23400

-- cluster 2: 57 rows, 13.0 %
"Detergents_Paper" <= 17400 AND "Fresh" > 23400

-- cluster 3: 10 rows, 2.3 %
"Detergents_Paper" > 17400
