-- cluster 2: 142 rows, 40.6 %
-- cluster 4: 135 rows, 38.6 %
-- cluster 0 (small orders): 46 rows, 13.1 %
-- cluster 3: 19 rows, 5.4 %
-- cluster 1: 8 rows, 2.3 %
CASE
  WHEN CAST("contract" AS TEXT) COLLATE "C" NOT IN ('Two year', 'One year') AND CAST("pay ment" AS TEXT) COLLATE "C" NOT IN ('Mailed check', ('it''s "auto" | ' || chr(92))) AND "months" <= 12 THEN 2
  WHEN CAST("contract" AS TEXT) COLLATE "C" = 'One year' THEN 2
  WHEN CAST("contract" AS TEXT) COLLATE "C" = 'Two year' AND CASE WHEN pg_typeof("paid") = CAST('numeric' AS regtype) THEN CAST(TRIM(CAST("paid" AS TEXT) COLLATE "C") AS NUMERIC) IN (0) ELSE CAST(LOWER(TRIM(CAST("paid" AS TEXT) COLLATE "C")) AS TEXT) COLLATE "C" IN ('false', 'f', '0', '0.0') END THEN 4
  WHEN CAST("contract" AS TEXT) COLLATE "C" = 'Two year' AND CASE WHEN pg_typeof("paid") = CAST('numeric' AS regtype) THEN CAST(TRIM(CAST("paid" AS TEXT) COLLATE "C") AS NUMERIC) IN (1) ELSE CAST(LOWER(TRIM(CAST("paid" AS TEXT) COLLATE "C")) AS TEXT) COLLATE "C" IN ('true', 't', '1', '1.0') END AND CAST("size" AS TEXT) COLLATE "C" NOT IN ('S', 'M') THEN 4
  WHEN CAST("contract" AS TEXT) COLLATE "C" NOT IN ('Two year', 'One year') AND CAST("pay ment" AS TEXT) COLLATE "C" = 'Mailed check' THEN 0
  WHEN CAST("contract" AS TEXT) COLLATE "C" = 'Two year' AND CASE WHEN pg_typeof("paid") = CAST('numeric' AS regtype) THEN CAST(TRIM(CAST("paid" AS TEXT) COLLATE "C") AS NUMERIC) IN (1) ELSE CAST(LOWER(TRIM(CAST("paid" AS TEXT) COLLATE "C")) AS TEXT) COLLATE "C" IN ('true', 't', '1', '1.0') END AND CAST("size" AS TEXT) COLLATE "C" IN ('S', 'M') THEN 0
  WHEN CAST("contract" AS TEXT) COLLATE "C" NOT IN ('Two year', 'One year') AND CAST("pay ment" AS TEXT) COLLATE "C" NOT IN ('Mailed check', ('it''s "auto" | ' || chr(92))) AND "months" > 12 AND "months" <= CAST('Infinity' AS DOUBLE PRECISION) THEN 3
  WHEN CAST("contract" AS TEXT) COLLATE "C" NOT IN ('Two year', 'One year') AND CAST("pay ment" AS TEXT) COLLATE "C" = ('it''s "auto" | ' || chr(92)) THEN 1
END
