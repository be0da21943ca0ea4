-- cluster 0: 296 rows, 67.3 %
"Detergents_Paper" <= 4130 AND "Fresh" <= 26800

-- cluster 1: 91 rows, 20.7 %
"Detergents_Paper" > 4130 AND "Detergents_Paper" <= 17400 AND "Fresh" <= 26800

-- cluster 2: 43 rows, 9.8 %
"Detergents_Paper" <= 17400 AND "Fresh" > 26800

-- cluster 3: 10 rows, 2.3 %
"Detergents_Paper" > 17400
