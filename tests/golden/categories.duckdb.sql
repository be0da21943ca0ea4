-- cluster 2: 142 rows, 40.6 %
-- cluster 4: 135 rows, 38.6 %
-- cluster 0 (small orders): 46 rows, 13.1 %
-- cluster 3: 19 rows, 5.4 %
-- cluster 1: 8 rows, 2.3 %
CASE
  WHEN "contract" NOT IN ('Two year', 'One year' COLLATE C) AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \' COLLATE C) AND "months" <= 12 AND (isfinite("months") OR isinf("months")) THEN 2
  WHEN "contract" = 'One year' COLLATE C THEN 2
  WHEN "contract" = 'Two year' COLLATE C AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (0) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('false', 'f', '0', '0.0') END THEN 4
  WHEN "contract" = 'Two year' COLLATE C AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (1) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('true', 't', '1', '1.0') END AND "size" NOT IN ('S', 'M' COLLATE C) THEN 4
  WHEN "contract" NOT IN ('Two year', 'One year' COLLATE C) AND "pay ment" = 'Mailed check' COLLATE C THEN 0
  WHEN "contract" = 'Two year' COLLATE C AND CASE WHEN typeof("paid") LIKE 'DECIMAL%' THEN "paid" IN (1) ELSE LOWER(trim(CAST("paid" AS VARCHAR) COLLATE C, ' ')) IN ('true', 't', '1', '1.0') END AND "size" IN ('S', 'M' COLLATE C) THEN 0
  WHEN "contract" NOT IN ('Two year', 'One year' COLLATE C) AND "pay ment" NOT IN ('Mailed check', 'it''s "auto" | \' COLLATE C) AND "months" > 12 AND (isfinite("months") OR isinf("months")) THEN 3
  WHEN "contract" NOT IN ('Two year', 'One year' COLLATE C) AND "pay ment" = 'it''s "auto" | \' COLLATE C THEN 1
END
