-- Written by shallowrules 0.2.0 from the rules with SHA-256 fa413136dbf2b984e976c6c9abb5046cc3f449f75cc59f455b16baacb3419cd8.
-- 350 rows, 5 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- May differ from the tree on a Decimal with more than 15 digits; this query finds these columns:
-- SELECT name, type FROM system.columns WHERE table = 'data' AND type LIKE '%Decimal%'
-- cluster 2: 142 rows, 40.6%
-- cluster 4: 135 rows, 38.6%
-- cluster 0 (small orders): 46 rows, 13.1%
-- cluster 3: 19 rows, 5.4%
-- cluster 1: 8 rows, 2.3%
CASE
  WHEN
    ("contract" IS NOT NULL AND "contract" NOT IN ('Two year', 'One year'))
    AND ("pay ment" IS NOT NULL AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \\'))
    AND "months" <= 12
    THEN 2
  WHEN "contract" = 'One year' THEN 2
  WHEN
    "contract" = 'Two year'
    AND CAST(LOWER(TRIM(CAST("paid" AS Nullable(String)))) AS Nullable(String)) IN ('false', 'f', '0', '0.0')
    THEN 4
  WHEN
    "contract" = 'Two year'
    AND CAST(LOWER(TRIM(CAST("paid" AS Nullable(String)))) AS Nullable(String)) IN ('true', 't', '1', '1.0')
    AND ("size" IS NOT NULL AND "size" NOT IN ('S', 'M'))
    THEN 4
  WHEN
    ("contract" IS NOT NULL AND "contract" NOT IN ('Two year', 'One year'))
    AND "pay ment" = 'Mailed check'
    THEN 0
  WHEN
    "contract" = 'Two year'
    AND CAST(LOWER(TRIM(CAST("paid" AS Nullable(String)))) AS Nullable(String)) IN ('true', 't', '1', '1.0')
    AND "size" IN ('S', 'M')
    THEN 0
  WHEN
    ("contract" IS NOT NULL AND "contract" NOT IN ('Two year', 'One year'))
    AND ("pay ment" IS NOT NULL AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \\'))
    AND "months" > 12
    THEN 3
  WHEN
    ("contract" IS NOT NULL AND "contract" NOT IN ('Two year', 'One year'))
    AND "pay ment" = 'it''s "auto" | \\'
    THEN 1
END
