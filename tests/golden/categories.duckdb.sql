-- cluster 2: 142 rows, 40.6 %
-- cluster 4: 135 rows, 38.6 %
-- cluster 0 (small orders): 46 rows, 13.1 %
-- cluster 3: 19 rows, 5.4 %
-- cluster 1: 8 rows, 2.3 %
CASE
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \') AND "months" <= 12 AND (isfinite("months") OR isinf("months")) THEN 2
  WHEN "contract" = 'One year' THEN 2
  WHEN "contract" = 'Two year' AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (0) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('false', 'f', '0', '0.0') END THEN 4
  WHEN "contract" = 'Two year' AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (1) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('true', 't', '1', '1.0') END AND "size" NOT IN ('S', 'M') THEN 4
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" = 'Mailed check' THEN 0
  WHEN "contract" = 'Two year' AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (1) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('true', 't', '1', '1.0') END AND "size" IN ('S', 'M') THEN 0
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \') AND "months" > 12 AND (isfinite("months") OR isinf("months")) THEN 3
  WHEN "contract" NOT IN ('Two year', 'One year') AND "pay ment" = 'it''s "auto" | \' THEN 1
END
