-- cluster 2: 142 rows, 40.6 %
-- cluster 4: 135 rows, 38.6 %
-- cluster 0 (small orders): 46 rows, 13.1 %
-- cluster 3: 19 rows, 5.4 %
-- cluster 1: 8 rows, 2.3 %
CASE
  WHEN COLLATE("contract", 'utf8') NOT IN ('Two year', 'One year') AND COLLATE("pay ment", 'utf8') NOT IN ('Mailed check', 'it\'s "auto" | \\') AND "months" <= 12 THEN 2
  WHEN COLLATE("contract", 'utf8') = 'One year' THEN 2
  WHEN COLLATE("contract", 'utf8') = 'Two year' AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('false', 'f', '0', '0.0') THEN 4
  WHEN COLLATE("contract", 'utf8') = 'Two year' AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('true', 't', '1', '1.0') AND COLLATE("size", 'utf8') NOT IN ('S', 'M') THEN 4
  WHEN COLLATE("contract", 'utf8') NOT IN ('Two year', 'One year') AND COLLATE("pay ment", 'utf8') = 'Mailed check' THEN 0
  WHEN COLLATE("contract", 'utf8') = 'Two year' AND COLLATE(LOWER(TRIM(CAST("paid" AS VARCHAR))), 'utf8') IN ('true', 't', '1', '1.0') AND COLLATE("size", 'utf8') IN ('S', 'M') THEN 0
  WHEN COLLATE("contract", 'utf8') NOT IN ('Two year', 'One year') AND COLLATE("pay ment", 'utf8') NOT IN ('Mailed check', 'it\'s "auto" | \\') AND "months" > 12 AND "months" <= CAST('inf' AS DOUBLE) THEN 3
  WHEN COLLATE("contract", 'utf8') NOT IN ('Two year', 'One year') AND COLLATE("pay ment", 'utf8') = 'it\'s "auto" | \\' THEN 1
END
